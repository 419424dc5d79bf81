// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/training/linear.h"
#include "model/gpt_batch.h"

namespace myxtts {

// Causal attention within each segment of packed rows, on probabilities with `dropout`.
//
// On the CPU one row after another; on CUDA one kernel for all rows, which takes their ends from
// the device: flash in half precision, the memory-efficient one in fp32. All give equal numbers.
//
// qkv [N, 3 · D] as [q | k | v], each split into heads -> [N, D]
at::Tensor packed_attention(const Projection& qkv, std::int64_t heads, const GptBatch& batch,
                            double dropout);

}  // namespace myxtts
