// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/training/cuda_kernels.h"

namespace myxtts {

// The kernels behind kernels/training/residual_norm.h: pointers to rows of `width` numbers on the
// current GPU, in its current stream.
struct NormForward {
  Number number = Number::Fp32;
  std::int64_t rows = 0;  // of the output
  std::int64_t width = 0;
  const void* x = nullptr;
  const void* branch = nullptr;            // added to x with dropout; null: nothing is
  const std::int64_t* selected = nullptr;  // [rows] rows of x; null: all of them
  const void* weight = nullptr;            // [width]
  const void* bias = nullptr;              // [width]
  double epsilon = 0;
  double dropout = 0;
  void* sum = nullptr;           // [rows, width] where there is a branch
  void* normed = nullptr;        // [rows, width]
  float* mean = nullptr;         // [rows]
  float* inverse = nullptr;      // [rows] of the deviation
  std::uint8_t* kept = nullptr;  // [rows, width / 8] bits, where there is dropout
};

struct NormBackward {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const void* d_normed = nullptr;          // [rows, width]
  const void* d_sum = nullptr;             // [rows, width]; null: 0
  const void* sum = nullptr;               // what was normalised
  const std::int64_t* selected = nullptr;  // [rows] where rows of `sum` and `dx` are; null: all
  const void* weight = nullptr;
  const float* mean = nullptr;
  const float* inverse = nullptr;
  const std::uint8_t* kept = nullptr;  // null: no dropout
  double dropout = 0;
  void* dx = nullptr;
  void* d_branch = nullptr;  // null where it equals dx
  void* d_weight = nullptr;  // null: not wanted
  void* d_bias = nullptr;
  void* d_branch_sums = nullptr;  // [width] over rows, of d_branch, or of dx where that is null
};

struct NormKernels {
  void (*forward)(const NormForward&) = nullptr;
  void (*backward)(const NormBackward&) = nullptr;
};

// What the kernels ask of a width.
inline constexpr std::int64_t kNormWidthMultiple = 8;
inline constexpr std::int64_t kNormWidest = 2048;

}  // namespace myxtts
