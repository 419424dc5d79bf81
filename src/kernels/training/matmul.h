// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/training/cuda_kernels.h"

namespace myxtts {

// A matrix on the current GPU, row after row.
struct Matrix {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;  // from row to row, in numbers
  bool transposed = false;  // it enters the product as its transpose

  std::int64_t height() const { return transposed ? columns : rows; }
  std::int64_t breadth() const { return transposed ? rows : columns; }
};

// out = left · right, and what the product's kernel does besides while it has the numbers at hand.
// At most one of the three groups below `added`.
struct Product {
  Number number = Number::Bf16;  // half precision; sums are fp32
  Matrix left;
  Matrix right;
  void* out = nullptr;
  std::int64_t out_stride = 0;

  // Like out, and not the same memory: out = left · right + added. Null: nothing is. Not with gelu.
  const void* added = nullptr;

  // out = left · right + bias, or gelu of that, with what was before gelu kept. Tanh's gelu.
  const void* bias = nullptr;   // [columns of out]
  void* before_gelu = nullptr;  // like out

  // out = (left · right) · gelu'(gelu_of). Tanh's gelu.
  const void* gelu_of = nullptr;  // like out

  // The sums of right over its rows, and of left over its columns: a bias's gradient beside a
  // weight's.
  void* right_sums = nullptr;  // [columns of out]
  void* left_sums = nullptr;   // [rows of out]
};

struct MatmulKernels {
  // `tune`: may try several ways at the first product of its kind and take the fastest, so that
  // rounding may differ from one start of the program to the next.
  void (*multiply)(const Product& product, bool tune) = nullptr;
};

}  // namespace myxtts
