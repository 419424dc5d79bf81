// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/training/cuda_kernels.h"

namespace myxtts {

// The kernels behind kernels/training/attention/row_attention.h: causal attention within the
// segments of packed rows, on the current GPU, in its current stream. Nothing is added with
// atomics, and nothing but `ends` says where segments lie, so that a graph may hold it.
struct RowAttention {
  Number number = Number::Bf16;  // or Fp16
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t segments = 0;
  std::int64_t longest = 0;            // at least the length of the longest segment
  const std::int32_t* ends = nullptr;  // [segments + 1] from 0 to `rows`
  const void* qkv = nullptr;           // [rows, 3, heads, kHeadWidth]
  double dropout = 0;
  void* mixed = nullptr;          // [rows, heads, kHeadWidth]
  float* log_sums = nullptr;      // [heads, rows] of 2 to the power of scores, to the base of 2
  std::uint32_t* kept = nullptr;  // [kept_words()], where there is dropout
};

struct RowAttentionGradients {
  const void* d_mixed = nullptr;  // [rows, heads, kHeadWidth]
  void* d_qkv = nullptr;          // [rows, 3, heads, kHeadWidth]
  void* d_bias = nullptr;         // [3, heads, kHeadWidth] sums of d_qkv; null: not wanted
};

struct RowAttentionKernels {
  bool (*fits_gpu)() = nullptr;  // the current one
  std::int64_t (*kept_words)(const RowAttention&) = nullptr;
  void (*forward)(const RowAttention&) = nullptr;
  void (*backward)(const RowAttention&, const RowAttentionGradients&) = nullptr;
};

inline constexpr std::int64_t kHeadWidth = 64;

}  // namespace myxtts
