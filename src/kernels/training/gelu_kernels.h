// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/training/cuda_kernels.h"

namespace myxtts {

// Back through tanh's gelu and the bias before it: rows of `width` numbers on the current GPU, one
// after another, in its current stream.
struct GeluBackward {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t width = 0;        // a multiple of kGeluWidthMultiple
  const void* before = nullptr;  // [rows, width] what gelu was taken of
  void* slopes = nullptr;        // [rows, width] of gelu's result; replaced by those of `before`
  void* d_bias = nullptr;        // [width] their sums over rows; null: not wanted
};

// The sums of columns over rows, where the derivative is taken inside a matrix product.
struct ColumnTotals {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t width = 0;         // a multiple of kGeluWidthMultiple
  const void* numbers = nullptr;  // [rows, width]
  void* totals = nullptr;         // [width]
};

struct GeluKernels {
  void (*backward)(const GeluBackward&) = nullptr;
  void (*sum_columns)(const ColumnTotals&) = nullptr;
};

inline constexpr std::int64_t kGeluWidthMultiple = 8;

}  // namespace myxtts
