// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/ops/linear.h"
#include "model/gpt_batch.h"
#include "model/gpt_specs.h"

namespace myxtts {

// Causal attention within each segment of packed rows, on probabilities with `dropout`.
//
// On the CPU one row after another; on CUDA one kernel for all rows, which takes their ends from
// the device: flash in half precision, the memory-efficient one in fp32. All give equal numbers.
//
// qkv [N, 3 · D] as [q | k | v], each split into heads -> [N, D]
at::Tensor packed_attention(const Projection& qkv, std::int64_t heads, const GptBatch& batch,
                            double dropout);

// Note [Text guide]
// Speech goes through its text from the beginning to the end, at nearly one pace. A GPT from
// nothing has to find that out from the codes alone, and with little speech it has learnt the codes
// by heart before it does. The guide is a loss on one head of two layers: it is the larger
// the less attention the head gives, from each code, to the text around the place that is as far
// through the text as the code is through the speech. What it does there precisely, and what all
// other heads do, stays the code loss's to teach.

// Sums over the codes of a batch, in fp32; a mean is sum / count.
struct GuideSums {
  at::Tensor sum;    // scalar: of -log(attention given to text around the code's place)
  at::Tensor count;  // scalar: how many codes
};

// Of one of the heads of a layer, whose `qkv` is [N, 3 · D] as packed_attention takes it.
// `text_positions` is GptConfig's. Biases of queries and keys have no gradient from it: Note
// [Deferred bias gradient] leaves that to the attention.
GuideSums text_guide(const at::Tensor& qkv, std::int64_t heads, std::int64_t head,
                     std::int64_t text_positions, const GptBatch& batch);

}  // namespace myxtts
