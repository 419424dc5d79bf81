// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/training/attention/segment.cuh"

// What both passes of attention share on the host, and what they give to the table of kernels.
namespace myxtts {

void row_attention_forward(const RowAttention& call);
void row_attention_backward(const RowAttention& call, const RowAttentionGradients& gradients);

namespace device {

// Scores are divided by the root of the head's width; powers are of two.
constexpr float kScoreScale = 0.125F * 1.44269504F;

inline dim3 attention_grid(const RowAttention& call) {
  return {static_cast<unsigned>((call.longest + kOwned - 1) / kOwned),
          static_cast<unsigned>(call.heads), static_cast<unsigned>(call.segments)};
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
