// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/training/cuda_kernels.h"

namespace myxtts {

// Three matrices side by side, stretch by stretch of their columns, and the sums of the columns: on
// the current GPU, in its current stream.
struct Join {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t width = 0;     // of each part, a multiple of `stretch`
  std::int64_t stretch = 0;   // columns of one part that stay together, a multiple of kJoinMultiple
  const void* parts[3] = {};  // [rows, width] each
  void* joined = nullptr;     // [rows, width / stretch, 3, stretch]
  void* sums = nullptr;       // [3 · width] of `joined` over rows; null: not wanted
};

struct JoinKernels {
  void (*join)(const Join&) = nullptr;
};

inline constexpr std::int64_t kJoinMultiple = 8;

}  // namespace myxtts
