// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/latent_rows.h"

#include <ATen/ATen.h>

namespace myxtts {
namespace {

constexpr std::int64_t kStopsBehind = 3;  // targets of a row behind the one that stops it

// Each number one place later, and the first where it was.
at::Tensor moved_on(const at::Tensor& numbers) {
  return at::cat({numbers.narrow(0, 0, 1), numbers.narrow(0, 0, numbers.size(0) - 1)});
}

void show_stop(const GptConfig& config, GptBatch& rows) {
  const auto is_code = rows.tokens.ge(config.text_ids)
                           .logical_and_(rows.tokens.lt(config.text_ids + config.audio_ids));
  const auto after_code = moved_on(is_code);
  const auto before = moved_on(rows.tokens);
  const auto position = moved_on(rows.positions);
  // Where the first code stood comes the STOP, at the position behind the text's last.
  rows.tokens = at::where(
      is_code, at::where(after_code, before, at::full_like(before, config.stop_text)), rows.tokens);
  rows.positions =
      at::where(is_code, at::where(after_code, position, position + 1), rows.positions);
}

}  // namespace

LatentRows latent_rows(const GptConfig& config, const GptBatch& trained, std::int64_t slots) {
  LatentRows latents = {.rows = trained, .first = {}, .counts = {}};
  show_stop(config, latents.rows);
  const std::int64_t targets = trained.audio_targets.size(0);
  latents.rows.target_rows =
      (trained.target_rows.narrow(0, trained.text_targets.size(0), targets) + 1)
          .clamp_max_(trained.tokens.size(0) - 1);
  const auto clips = at::arange(slots, trained.audio_clips.options());
  latents.first = at::searchsorted(trained.audio_clips, clips);
  const auto ends = at::searchsorted(trained.audio_clips, clips, /*out_int32=*/false,
                                     /*right=*/true);
  latents.counts = (ends - latents.first - kStopsBehind).clamp_min_(1);
  return latents;
}

}  // namespace myxtts
