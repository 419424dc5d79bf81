// SPDX-License-Identifier: Apache-2.0
#include "gpt_golden.h"

#include <cmath>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "model/gpt_specs.h"
#include "support/formula_weights.h"

namespace myxtts::test {
namespace {

constexpr std::int64_t kFrames = 21;

// Whole numbers in [low, high) by formula.
std::vector<std::int64_t> ids(const std::string& name, std::int64_t count, std::int64_t low,
                              std::int64_t high) {
  const auto values = formula_values(name, {count});
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = (static_cast<double>(values.const_data_ptr<float>()[i]) + 1.0) / 2.0;
    result.push_back(
        low + static_cast<std::int64_t>(std::floor(share * static_cast<double>(high - low))));
  }
  return result;
}

GoldenClip make_clip(int number, std::int64_t text, std::int64_t codes, PromptSpan prompt) {
  const auto suffix = std::to_string(number);
  return {.text = ids("text" + suffix, text, 1, 35),
          .codes = ids("codes" + suffix, codes, 0, 32),
          .mel = formula_values("mel" + suffix, {80, kFrames}) * 2.0F,
          .prompt = prompt};
}

// Sums over each clip's targets, padding into a place of its own that is cut off: [N] -> [clips]
at::Tensor by_clip(const at::Tensor& values, const at::Tensor& clip_of, std::int64_t clips) {
  return at::zeros({clips + 1}, values.options()).index_add(0, clip_of, values).narrow(0, 0, clips);
}

at::Tensor clip_means(const at::Tensor& token_losses, const at::Tensor& targets,
                      const at::Tensor& clip_of, std::int64_t clips) {
  const auto losses = token_losses.detach();
  const auto counts = by_clip(targets.ne(-1).to(losses.scalar_type()), clip_of, clips);
  return by_clip(losses, clip_of, clips) / counts.clamp_min(1);
}

}  // namespace

GptConfig golden_gpt_config() {
  GptConfig config;
  config.layers = 2;
  config.width = 24;
  config.heads = 3;
  config.max_text_tokens = 30;
  config.max_audio_tokens = 40;
  config.text_ids = 37;
  config.start_text = 35;
  config.audio_ids = 34;
  config.start_audio = 32;
  config.stop_audio = 33;
  return config;
}

NamedTensors golden_gpt_weights(c10::Device device) {
  NamedTensors weights;
  for (auto& [name, tensor] : formula_weights(gpt_specs(golden_gpt_config()), "gpt/")) {
    // Matrices at half the formula's size: sharper attention would only magnify rounding.
    const double scale = tensor.dim() > 1 ? 0.5 : 1.0;
    weights.emplace("gpt." + name, (tensor * scale).to(device).requires_grad_(true));
  }
  return weights;
}

const std::vector<GoldenClip>& golden_clips() {
  static const std::vector<GoldenClip> clips = {
      make_clip(0, 30, 6, {.first = 0, .last = 3000}),
      make_clip(1, 1, 38, {.first = 2048, .last = 20000}),
      make_clip(2, 9, 1, {.first = 512, .last = 1280}),
  };
  return clips;
}

std::vector<GptClip> views(const std::vector<GoldenClip>& clips) {
  std::vector<GptClip> result;
  for (const auto& clip : clips) result.push_back(clip.clip());
  return result;
}

at::Tensor mels(const std::vector<GoldenClip>& clips) {
  std::vector<at::Tensor> result;
  for (const auto& clip : clips) result.push_back(clip.mel);
  return at::stack(result);
}

GptLosses losses_of(const Gpt& gpt, const GptBatch& batch, const at::Tensor& mel) {
  const auto states = gpt.states(batch, gpt.conditioning(mel));
  return gpt_losses(batch, gpt.logits(batch, states));
}

ClipLosses clip_losses(const GptBatch& batch, const GptLosses& losses) {
  return {.text = clip_means(losses.text_tokens, batch.text_targets, batch.text_clips, batch.clips),
          .audio =
              clip_means(losses.audio_tokens, batch.audio_targets, batch.audio_clips, batch.clips)};
}

}  // namespace myxtts::test
