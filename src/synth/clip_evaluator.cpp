// SPDX-License-Identifier: Apache-2.0
#include "synth/clip_evaluator.h"

#include <string_view>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/core/GradMode.h>

#include "model/gpt.h"
#include "synth/clip_encoder.h"

namespace myxtts {
namespace {

constexpr std::int64_t kPromptSamples = 132'300;  // what prompts are padded to: six seconds

}  // namespace

void ScoreSum::add(const ClipScore& score) {
  ++clips_;
  text_targets_ += score.text_targets;
  audio_targets_ += score.audio_targets;
  text_total_ += score.text * static_cast<double>(score.text_targets);
  audio_total_ += score.audio * static_cast<double>(score.audio_targets);
  text_means_ += score.text;
  audio_means_ += score.audio;
}

ClipScore ScoreSum::over_tokens() const {
  if (clips_ == 0) return {};
  return {.text = text_total_ / static_cast<double>(text_targets_),
          .audio = audio_total_ / static_cast<double>(audio_targets_),
          .text_targets = text_targets_,
          .audio_targets = audio_targets_};
}

ClipScore ScoreSum::over_clips() const {
  if (clips_ == 0) return {};
  return {.text = text_means_ / static_cast<double>(clips_),
          .audio = audio_means_ / static_cast<double>(clips_),
          .text_targets = text_targets_,
          .audio_targets = audio_targets_};
}

ClipEvaluator::ClipEvaluator(const OpenModel& model, c10::Device device)
    : config_(model.config.gpt),
      sample_rate_(model.config.decoder.input_sample_rate),
      device_(device),
      mel_stats_(model.model.at("mel_stats").to(device)),
      dvae_(model.config.dvae, on_device(model.dvae, device)),
      gpt_(model.config.gpt, on_device(model.model, device, kGptPrefix)),
      dvae_mel_(dvae_mel_config(), device),
      prompt_mel_(conditioning_mel_config(), device) {}

at::Tensor ClipEvaluator::codes(const at::Tensor& samples) const {
  const auto mel = normalised_log_mel(dvae_mel_(samples.unsqueeze(0)), mel_stats_);
  return codes_of_clip(dvae_, mel, samples.size(0), config_.code_stride);
}

at::Tensor ClipEvaluator::prompt_mel(const at::Tensor& samples, PromptSpan prompt) const {
  const auto length = prompt.last - prompt.first;
  const auto padded =
      at::constant_pad_nd(samples.narrow(0, prompt.first, length), {0, kPromptSamples - length});
  return normalised_log_mel(prompt_mel_(padded.unsqueeze(0)), mel_stats_);
}

ClipScore ClipEvaluator::operator()(const at::Tensor& samples, PromptSpan prompt,
                                    std::span<const std::int64_t> text) const {
  const c10::AutoGradMode no_gradients(false);
  const at::NoTF32Guard full_precision;  // of this thread only
  const auto here = samples.to(device_);
  const auto on_host = codes(here).cpu().contiguous();
  const GptClip clip{
      .text = text,
      .codes = {on_host.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(on_host.numel())}};
  const auto batch = to_batch(pack_rows(config_, std::span(&clip, 1)), device_);
  const auto latents = gpt_.conditioning(prompt_mel(here, prompt));
  const auto losses = gpt_losses(batch, gpt_.logits(batch, gpt_.states(batch, latents)));
  return {.text = losses.text.item<double>(),
          .audio = losses.audio.item<double>(),
          .text_targets = batch.text_targets.size(0),
          .audio_targets = batch.audio_targets.size(0)};
}

}  // namespace myxtts
