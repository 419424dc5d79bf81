// SPDX-License-Identifier: Apache-2.0
#include "synth/cpu/vector_math.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

// The sanitizers' run time is not up when the loader asks which version to take.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MYXTTS_FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define MYXTTS_FOR_EACH_PROCESSOR
#endif
#define MYXTTS_INLINE inline __attribute__((always_inline))

namespace myxtts {
namespace {

// Sixteen floats, in as many registers as the processor needs for them.
constexpr std::size_t kLanes = 16;
using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));
using Integers = std::int32_t __attribute__((vector_size(kLanes * sizeof(float))));
using LooseVector = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(4)));

constexpr float kEpsilon = 1e-5F;
constexpr std::size_t kRowsAtOnce = 4;
constexpr std::size_t kPrefetch = 1024;  // floats ahead

MYXTTS_INLINE void load(const float* from, Vector& to) {
  to = *reinterpret_cast<const LooseVector*>(from);
}

MYXTTS_INLINE void save(const Vector& from, float* to) {
  *reinterpret_cast<LooseVector*>(to) = from;
}

MYXTTS_INLINE float sum(const Vector& values) {
  float total[kLanes / 2];
  for (std::size_t i = 0; i < kLanes / 2; ++i) total[i] = values[i] + values[i + kLanes / 2];
  for (std::size_t half = kLanes / 4; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) total[i] += total[i + half];
  }
  return total[0];
}

// e^x to 2 units in the last place; x is held within what a float can give.
MYXTTS_INLINE void exponential(Vector& x) {
  constexpr float kMost = 88.0F;
  constexpr float kRounding = 12582912.0F;  // adding it leaves a whole number in the low bits
  x = x > kMost ? kMost - Vector{} : x;
  x = x < -87.0F ? -87.0F - Vector{} : x;
  const Vector shifted = x * 1.44269504F + kRounding;
  const Vector whole = shifted - kRounding;
  Vector r = x - whole * 0.693359375F;
  r = r + whole * 2.12194440e-4F;
  Vector p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const Integers exponent = (__builtin_convertvector(whole, Integers) + 127) << 23;
  Vector scale;
  std::memcpy(&scale, &exponent, sizeof(scale));
  x = p * scale;
}

// `kCount` rows of x times one panel. Two sums for even and odd inputs: shorter chains, and less
// rounding.
template <std::size_t kCount>
MYXTTS_INLINE void multiply_panel(const PanelMatrix& matrix, std::size_t panel, const float* x,
                                  std::size_t x_stride, Vector (&total)[kCount][2]) {
  Vector odd[kCount][2] = {};
  const float* weights = matrix.panels + panel * matrix.in * kPanel;
  std::size_t i = 0;
  for (; i + 1 < matrix.in; i += 2, weights += 2 * kPanel) {
    Vector w[4];
    for (std::size_t part = 0; part < 4; ++part) load(weights + part * kLanes, w[part]);
    __builtin_prefetch(weights + kPrefetch);
    __builtin_prefetch(weights + kPrefetch + kLanes);
    __builtin_prefetch(weights + kPrefetch + 2 * kLanes);
    __builtin_prefetch(weights + kPrefetch + 3 * kLanes);
#pragma GCC unroll 4
    for (std::size_t row = 0; row < kCount; ++row) {
      const float* inputs = x + row * x_stride + i;
      total[row][0] += w[0] * inputs[0];
      total[row][1] += w[1] * inputs[0];
      odd[row][0] += w[2] * inputs[1];
      odd[row][1] += w[3] * inputs[1];
    }
  }
  if (i < matrix.in) {
    Vector w[2];
    for (std::size_t part = 0; part < 2; ++part) load(weights + part * kLanes, w[part]);
#pragma GCC unroll 4
    for (std::size_t row = 0; row < kCount; ++row) {
      for (std::size_t part = 0; part < 2; ++part) {
        total[row][part] += w[part] * x[row * x_stride + i];
      }
    }
  }
#pragma GCC unroll 4
  for (std::size_t row = 0; row < kCount; ++row) {
    for (std::size_t part = 0; part < 2; ++part) total[row][part] += odd[row][part];
  }
}

template <std::size_t kCount>
MYXTTS_INLINE void multiply_rows(const PanelMatrix& matrix, std::size_t panel, const float* x,
                                 std::size_t x_stride, float* y, std::size_t y_stride,
                                 Result result) {
  Vector total[kCount][2] = {};
  multiply_panel<kCount>(matrix, panel, x, x_stride, total);
#pragma GCC unroll 4
  for (std::size_t row = 0; row < kCount; ++row) {
    for (std::size_t part = 0; part < 2; ++part) {
      const std::size_t column = panel * kPanel + part * kLanes;
      Vector bias;
      Vector before = {};
      load(matrix.bias + column, bias);
      float* target = y + row * y_stride + column;
      if (result == Result::Add) load(target, before);
      save(before + (total[row][part] + bias), target);
    }
  }
}

// Four registers' worth of columns at most, of every position.
template <std::size_t kParts>
MYXTTS_INLINE void mix_values(const float* values, std::size_t stride, const float* shares,
                              std::size_t length, float scale, float* out) {
  Vector total[kParts] = {};
  for (std::size_t position = 0; position < length; ++position) {
#pragma GCC unroll 4
    for (std::size_t part = 0; part < kParts; ++part) {
      Vector value;
      load(values + position * stride + part * kLanes, value);
      total[part] += value * shares[position];
    }
  }
#pragma GCC unroll 4
  for (std::size_t part = 0; part < kParts; ++part) save(total[part] * scale, out + part * kLanes);
}

}  // namespace

MYXTTS_FOR_EACH_PROCESSOR
void multiply(const PanelMatrix& matrix, const Rows& x, const Rows& y, std::size_t first,
              std::size_t last, Result result) {
  for (std::size_t panel = first; panel < last; ++panel) {
    std::size_t row = 0;
    for (; row + kRowsAtOnce <= x.count; row += kRowsAtOnce) {
      multiply_rows<kRowsAtOnce>(matrix, panel, x.data + row * x.stride, x.stride,
                                 y.data + row * y.stride, y.stride, result);
    }
    for (; row < x.count; ++row) {
      multiply_rows<1>(matrix, panel, x.data + row * x.stride, x.stride, y.data + row * y.stride,
                       y.stride, result);
    }
  }
}

MYXTTS_FOR_EACH_PROCESSOR
void normalise(const float* x, float* y, const float* weight, const float* bias,
               std::size_t width) {
  const std::size_t whole = width / kLanes * kLanes;
  const auto inverse = 1.0F / static_cast<float>(width);
  Vector value;
  Vector sums = {};
  for (std::size_t i = 0; i < whole; i += kLanes) {
    load(x + i, value);
    sums += value;
  }
  float mean = sum(sums);
  for (std::size_t i = whole; i < width; ++i) mean += x[i];
  mean *= inverse;
  Vector squares = {};
  for (std::size_t i = 0; i < whole; i += kLanes) {
    load(x + i, value);
    squares += (value - mean) * (value - mean);
  }
  float variance = sum(squares);
  for (std::size_t i = whole; i < width; ++i) variance += (x[i] - mean) * (x[i] - mean);
  const float scale = 1.0F / std::sqrt(variance * inverse + kEpsilon);
  for (std::size_t i = 0; i < whole; i += kLanes) {
    Vector factor;
    Vector shift;
    load(x + i, value);
    load(weight + i, factor);
    load(bias + i, shift);
    save((value - mean) * scale * factor + shift, y + i);
  }
  for (std::size_t i = whole; i < width; ++i) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

// x · sigmoid(2u) is x · (1 + tanh u) / 2.
MYXTTS_FOR_EACH_PROCESSOR
void gelu(float* x, std::size_t count) {
  constexpr float kMinusTwoRoots = -1.5957691216F;  // -2 √(2/π)
  for (std::size_t i = 0; i < count; i += kLanes) {
    const std::size_t lanes = std::min(kLanes, count - i);
    Vector value = {};
    std::memcpy(&value, x + i, lanes * sizeof(float));
    Vector e = kMinusTwoRoots * (value + 0.044715F * value * value * value);
    exponential(e);
    value = value / (1.0F + e);
    std::memcpy(x + i, &value, lanes * sizeof(float));
  }
}

void store(const HeadCache& cache, std::size_t position, const float* key, const float* value) {
  float* keys = cache.keys + position / kKeyBlock * cache.width * kKeyBlock + position % kKeyBlock;
  for (std::size_t i = 0; i < cache.width; ++i) keys[i * kKeyBlock] = key[i];
  std::copy_n(value, cache.width, cache.values + position * round_up(cache.width, kKeyBlock));
}

MYXTTS_FOR_EACH_PROCESSOR
void attend(const HeadCache& cache, const float* q, std::size_t length, float* scores, float* out) {
  float most = -INFINITY;
  for (std::size_t block = 0; block * kKeyBlock < length; ++block) {
    const float* keys = cache.keys + block * cache.width * kKeyBlock;
    Vector total[2] = {};
    std::size_t i = 0;
    for (; i + 1 < cache.width; i += 2) {
      Vector even;
      Vector odd;
      load(keys + i * kKeyBlock, even);
      load(keys + (i + 1) * kKeyBlock, odd);
      total[0] += even * q[i];
      total[1] += odd * q[i + 1];
    }
    if (i < cache.width) {
      Vector even;
      load(keys + i * kKeyBlock, even);
      total[0] += even * q[i];
    }
    save(total[0] + total[1], scores + block * kKeyBlock);
    const std::size_t end = std::min(length, (block + 1) * kKeyBlock);
    most = std::max(most, *std::max_element(scores + block * kKeyBlock, scores + end));
  }
  std::fill(scores + length, scores + round_up(length, kKeyBlock), -INFINITY);
  Vector sums = {};
  for (std::size_t i = 0; i < length; i += kLanes) {
    Vector share;
    load(scores + i, share);
    share = share - most;
    const auto is_outside = share < -86.0F;  // what is beyond the length, and what counts nothing
    exponential(share);
    share = is_outside ? Vector{} : share;
    sums += share;
    save(share, scores + i);
  }
  const float scale = 1.0F / sum(sums);
  const std::size_t stride = round_up(cache.width, kKeyBlock);
  std::size_t column = 0;
  for (; column + 4 * kLanes <= stride; column += 4 * kLanes) {
    mix_values<4>(cache.values + column, stride, scores, length, scale, out + column);
  }
  for (; column < stride; column += kLanes) {
    mix_values<1>(cache.values + column, stride, scores, length, scale, out + column);
  }
}

}  // namespace myxtts
