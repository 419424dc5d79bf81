// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/gpt.h"
#include "model/gpt_batch.h"
#include "model/gpt_rows.h"
#include "model/named_tensors.h"

namespace myxtts::test {

// The small model and the clips of tests/golden/make_gpt.py.

GptConfig golden_gpt_config();

// Names begin with "gpt."; on `device`, requiring gradients.
NamedTensors golden_gpt_weights(c10::Device device = c10::kCPU);

struct GoldenClip {
  std::vector<std::int64_t> text;
  std::vector<std::int64_t> codes;
  at::Tensor mel;  // [80, F]
  PromptSpan prompt;

  GptClip clip() const { return {.text = text, .codes = codes, .prompt = prompt}; }
};

// The longest text, the longest audio, and the shortest of both.
const std::vector<GoldenClip>& golden_clips();

std::vector<GptClip> views(const std::vector<GoldenClip>& clips);
at::Tensor mels(const std::vector<GoldenClip>& clips);  // [B, 80, F]

// One forward pass without dropout.
GptLosses losses_of(const Gpt& gpt, const GptBatch& batch, const at::Tensor& mel);

// The mean over each clip's own targets, without gradient; 0 for a clip that has none.
struct ClipLosses {
  at::Tensor text;   // [clips]
  at::Tensor audio;  // [clips]
};
ClipLosses clip_losses(const GptBatch& batch, const GptLosses& losses);

}  // namespace myxtts::test
