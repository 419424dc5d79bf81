// SPDX-License-Identifier: Apache-2.0
#include "model/losses.h"

#include <ATen/ATen.h>

#include "kernels/training/cross_entropy.h"

namespace myxtts {
namespace {

// Sums over each clip's targets, padding into a place of its own that is cut off: [N] -> [clips]
at::Tensor by_clip(const at::Tensor& values, const at::Tensor& clip_of, std::int64_t clips) {
  return at::zeros({clips + 1}, values.options()).index_add(0, clip_of, values).narrow(0, 0, clips);
}

at::Tensor clip_means(const at::Tensor& token_losses, const at::Tensor& targets,
                      const at::Tensor& clip_of, std::int64_t clips) {
  const auto losses = token_losses.detach();
  const auto counts = by_clip(targets.ne(kIgnoredTarget).to(losses.scalar_type()), clip_of, clips);
  return by_clip(losses, clip_of, clips) / counts.clamp_min(1);
}

}  // namespace

GptLosses gpt_losses(const GptBatch& batch, const GptLogits& logits) {
  GptLosses losses;
  losses.text_tokens = token_losses(logits.text, batch.text_targets);
  losses.audio_tokens = token_losses(logits.audio, batch.audio_targets);
  losses.text = losses.text_tokens.sum() / batch.text_count;
  losses.audio = losses.audio_tokens.sum() / batch.audio_count;
  losses.total = losses.text * kTextLossWeight + losses.audio;
  return losses;
}

ClipLosses clip_losses(const GptBatch& batch, const GptLosses& losses) {
  return {.text = clip_means(losses.text_tokens, batch.text_targets, batch.text_clips, batch.clips),
          .audio =
              clip_means(losses.audio_tokens, batch.audio_targets, batch.audio_clips, batch.clips)};
}

}  // namespace myxtts
