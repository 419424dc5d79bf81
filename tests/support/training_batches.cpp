// SPDX-License-Identifier: Apache-2.0
#include "support/training_batches.h"
#include "device/torch_device.h"

#include <algorithm>
#include <span>

#include <ATen/ATen.h>

#include "base/random.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/named_tensors.h"

namespace myxtts::test {
namespace {

struct Clip {
  std::vector<std::int64_t> text;
  std::vector<std::int64_t> codes;
};

std::vector<std::int64_t> random_ids(const RandomStream& draws, std::int64_t count,
                                     std::int64_t limit) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(draws.integer(static_cast<std::uint64_t>(i) + 8, 0, limit - 1));
  }
  return ids;
}

std::vector<Clip> random_clips(const GptConfig& config, const RandomClips& wanted,
                               std::uint64_t seed) {
  std::vector<Clip> clips;
  for (std::int64_t i = 0; i < wanted.clips; ++i) {
    const auto own = seed * 1000 + static_cast<std::uint64_t>(i);
    const RandomStream text(own, "text");
    const RandomStream codes(own, "codes");
    clips.push_back(
        {.text = random_ids(text, text.integer(0, wanted.shortest_text, wanted.longest_text),
                            config.text_ids),
         .codes = random_ids(codes, codes.integer(0, wanted.fewest_codes, wanted.most_codes),
                             config.start_audio)});
  }
  return clips;
}

at::Tensor random_mel(const GptConfig& config, std::int64_t clips, std::int64_t frames,
                      std::uint64_t seed) {
  const RandomStream draws(seed, "mel");
  auto mel = at::empty({clips, config.mel_bands, frames});
  auto numbers = std::span(mel.mutable_data_ptr<float>(), static_cast<std::size_t>(mel.numel()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(draws.normal(i));
  }
  return mel;
}

DeviceBatch made_of(const GptConfig& config, const RoleDevice& device, std::span<const Clip> clips,
                    const at::Tensor& mel, const RowSizes& sizes) {
  std::vector<GptClip> views;
  for (const auto& clip : clips) views.push_back({.text = clip.text, .codes = clip.codes});
  DeviceBatch batch;
  batch.rows = to_batch(pack_rows(config, views, PromptMask::None, sizes), torch_device(device));
  batch.prompt_mel = mel.to(torch_device(device));
  batch.clips.resize(clips.size());
  batch.filled = device.make_event();
  batch.consumed = device.make_event();
  return batch;
}

}  // namespace

GptConfig small_gpt() {
  GptConfig config = model_preset("tiny").gpt;
  config.layers = 2;
  config.width = 64;
  config.heads = 4;
  config.text_ids = 40;
  config.start_text = 38;
  config.stop_text = 39;
  config.start_audio = 50;
  config.stop_audio = 51;
  config.audio_ids = 52;
  config.max_text_tokens = 40;
  config.max_audio_tokens = 60;
  config.conditioning_blocks = 1;
  config.perceiver_depth = 1;
  config.perceiver_latents = 4;
  return config;
}

NamedTensors random_gpt_weights(const GptConfig& config, std::uint64_t seed) {
  NamedTensors weights;
  for (const auto& [name, weight] : initialise(gpt_specs(config), seed)) {
    weights.emplace(kGptPrefix + name, weight);
  }
  at::manual_seed(seed);
  for (auto& [name, weight] : weights) {
    if (name.ends_with("proj_out.weight")) weight.normal_(0.0, 0.02);
  }
  return weights;
}

DeviceBatch random_batch(const GptConfig& config, const RoleDevice& device,
                         const RandomClips& clips, std::uint64_t seed) {
  const auto mel =
      random_mel(config, std::max(clips.clips, clips.slots), clips.prompt_frames, seed);
  return made_of(config, device, random_clips(config, clips, seed), mel, clips.sizes);
}

SplitBatch split_batch(const GptConfig& config, const RoleDevice& device, std::uint64_t seed) {
  const RandomClips wanted = {.clips = 4};
  const auto clips = random_clips(config, wanted, seed);
  const auto mel = random_mel(config, 4, wanted.prompt_frames, seed);
  SplitBatch split = {.whole = made_of(config, device, clips, mel, {}), .parts = {}};
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    const std::size_t count = first == 0 ? 1 : 3;  // unequal, so that their means differ
    split.parts.push_back(made_of(
        config, device, std::span(clips).subspan(first, count),
        mel.narrow(0, static_cast<std::int64_t>(first), static_cast<std::int64_t>(count)), {}));
    split.parts.back().rows.text_count = split.whole.rows.text_count;
    split.parts.back().rows.audio_count = split.whole.rows.audio_count;
    split.parts.back().ends_step = first != 0;
  }
  return split;
}

}  // namespace myxtts::test
