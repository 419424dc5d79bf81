// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace myxtts {

// The arithmetic of one decoding step, in fp32, each function compiled for several generations of
// processors; the best that the machine has is taken when the program starts.

// Columns of a matrix that lie together; see PanelMatrix.
inline constexpr std::size_t kPanel = 32;
// Positions of the cache whose keys lie together; see attend().
inline constexpr std::size_t kKeyBlock = 16;

inline constexpr std::size_t round_up(std::size_t count, std::size_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// Several rows of floats, `stride` apart.
struct Rows {
  float* data = nullptr;
  std::size_t stride = 0;
  std::size_t count = 0;
};

// A matrix [in, out] as panels of kPanel columns: [panels][in][kPanel], the last filled up with
// zeros, and a bias as long as that. Read once from end to end, as a decoding step does, it keeps
// the memory busy.
struct PanelMatrix {
  const float* panels = nullptr;
  const float* bias = nullptr;
  std::size_t in = 0;
  std::size_t panel_count = 0;
};

enum class Result { Write, Add };

// The columns of the panels [first, last) of y = x W + b, or of y += x W + b. Rows of y have room
// for whole panels.
void multiply(const PanelMatrix& matrix, const Rows& x, const Rows& y, std::size_t first,
              std::size_t last, Result result);

// y = (x - mean) / deviation · weight + bias over `width` values.
void normalise(const float* x, float* y, const float* weight, const float* bias, std::size_t width);

// x = gelu(x), tanh form.
void gelu(float* x, std::size_t count);

// The cached keys and values of one head. keys [blocks][width][kKeyBlock], values [positions][width
// rounded up to kKeyBlock], the rest of it zeros.
struct HeadCache {
  float* keys = nullptr;
  float* values = nullptr;
  std::size_t width = 0;
};
void store(const HeadCache& cache, std::size_t position, const float* key, const float* value);

// softmax(q · keys) · values over `length` positions. `scores` has room for `length` rounded up to
// kKeyBlock. q is scaled already.
void attend(const HeadCache& cache, const float* q, std::size_t length, float* scores, float* out);

}  // namespace myxtts
