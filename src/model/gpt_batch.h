// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/gpt_rows.h"

namespace myxtts {

// Packed rows as tensors on a device; see Note [Packed rows]. Graphs read the tensors at fixed
// addresses, so a batch that stays may be copied into.
struct GptBatch {
  std::int64_t clips = 0;
  std::vector<std::int64_t> lengths;  // of the segments, for the CPU's attention
  std::int64_t longest = 0;           // an upper bound of `lengths`
  at::Tensor segment_ends;            // [segments + 1] int32
  at::Tensor tokens;                  // [N]
  at::Tensor positions;               // [N]
  at::Tensor target_rows;             // [Nt + Na]
  at::Tensor text_targets;            // [Nt]
  at::Tensor text_clips;              // [Nt]
  at::Tensor audio_targets;           // [Na]
  at::Tensor audio_clips;             // [Na]
  at::Tensor text_count;              // fp32 scalar, at least 1
  at::Tensor audio_count;             // fp32 scalar, at least 1
};

GptBatch to_batch(const GptRows& rows, c10::Device device);

}  // namespace myxtts
