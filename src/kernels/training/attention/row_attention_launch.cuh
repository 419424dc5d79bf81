// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/cuda/current_work.h"
#include "kernels/training/attention/segment.cuh"

// What both passes of attention share on the host, and what they give to the table of kernels.
namespace myxtts {

void row_attention_forward(const RowAttention& call);
void row_attention_backward(const RowAttention& call, const RowAttentionGradients& gradients);

namespace device {

// Scores are divided by the root of the head's width; powers are of two.
constexpr float kScoreScale = 0.125F * 1.44269504F;

// Up to so many blocks of threads for each that runs at a time, those with most to do go first.
constexpr std::int64_t kFewWaves = 7;

// Calls `run` with a grid of `kinds` blocks of threads for each kOwned rows and its order (Note
// [Order of blocks]). A multiprocessor runs `at_a_time` of them.
template <typename Run>
void with_grid(const RowAttention& call, int kinds, int at_a_time, const Run& run) {
  const std::int64_t blocks = (call.longest + kOwned - 1) / kOwned * kinds;
  const auto numbers = static_cast<unsigned>(blocks);
  const auto heads = static_cast<unsigned>(call.heads);
  const auto segments = static_cast<unsigned>(call.segments);
  if (blocks * call.heads * call.segments <= kFewWaves * multiprocessor_count() * at_a_time) {
    run(dim3(heads, segments, numbers), Order<true>{});
  } else {
    run(dim3(numbers, heads, segments), Order<false>{});
  }
}

// Calls `run` with a value of the type that a Number of half precision names.
template <typename Run>
void with_half(Number number, const Run& run) {
  if (number == Number::Fp16) {
    run(__half{});
  } else {
    run(__nv_bfloat16{});
  }
}

}  // namespace device
}  // namespace myxtts
