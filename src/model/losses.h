// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "model/gpt.h"
#include "model/gpt_batch.h"

namespace myxtts {

// What the text loss counts in the sum that is trained; the code loss counts 1.
inline constexpr double kTextLossWeight = 0.01;

// Cross entropies of a batch in fp32. Each mean is over all targets of the whole batch that are not
// ignored, so a long clip counts more than a short one.
struct GptLosses {
  at::Tensor text;          // scalar
  at::Tensor audio;         // scalar
  at::Tensor total;         // scalar: kTextLossWeight · text + audio
  at::Tensor text_tokens;   // [Nt] 0 where the target is ignored
  at::Tensor audio_tokens;  // [Na]
};

GptLosses gpt_losses(const GptBatch& batch, const GptLogits& logits);

// The mean over each clip's own targets, without gradient; 0 for a clip that has none.
struct ClipLosses {
  at::Tensor text;   // [clips]
  at::Tensor audio;  // [clips]
};

ClipLosses clip_losses(const GptBatch& batch, const GptLosses& losses);

}  // namespace myxtts
