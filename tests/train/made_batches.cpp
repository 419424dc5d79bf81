// SPDX-License-Identifier: Apache-2.0
#include "train/made_batches.h"

#include <ATen/ATen.h>

#include "base/random.h"
#include "device/cpu/cpu_role_device.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/initialise.h"

namespace myxtts::test {
namespace {

constexpr std::int64_t kFrames = 24;  // of a prompt

std::vector<std::int64_t> drawn(const RandomStream& random, std::int64_t count, std::int64_t most) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(random.integer(static_cast<std::uint64_t>(i), 1, most));
  }
  return ids;
}

at::Tensor made_mel(const GptConfig& config, const MadeBatchOptions& options) {
  const RandomStream random(options.seed, "mel");
  auto mel = at::empty({options.clips, config.mel_bands, kFrames});
  auto* value = mel.data_ptr<float>();
  for (std::int64_t i = 0; i < mel.numel(); ++i) {
    value[i] = static_cast<float>(random.uniform(static_cast<std::uint64_t>(i)) - 0.5);
  }
  return mel;
}

}  // namespace

GptConfig smallest_gpt() {
  GptConfig config;
  config.layers = 2;
  config.width = 48;
  config.heads = 3;
  config.text_ids = 40;
  config.start_text = 38;
  config.stop_text = 0;
  config.audio_ids = 66;
  config.start_audio = 64;
  config.stop_audio = 65;
  config.conditioning_blocks = 1;
  return config;
}

NamedTensors made_weights(const GptConfig& config, std::uint64_t seed) {
  NamedTensors weights;
  for (const auto& [name, weight] : initialise(gpt_specs(config), seed)) {
    weights.emplace(kGptPrefix + name, weight);
  }
  return weights;
}

DeviceBatch made_batch(const GptConfig& config, const MadeBatchOptions& options) {
  std::vector<std::vector<std::int64_t>> texts;
  std::vector<std::vector<std::int64_t>> codes;
  DeviceBatch batch;
  for (std::int64_t clip = 0; clip < options.clips; ++clip) {
    const RandomStream random(options.seed * 1000 + static_cast<std::uint64_t>(clip), "clip");
    texts.push_back(drawn(random, random.integer(900, 3, 9), 37));
    codes.push_back(drawn(random, random.integer(901, 6, 20), 63));
    batch.clips.push_back(static_cast<ClipNumber>(options.position.step * options.clips + clip));
    batch.audio_seconds += static_cast<double>(codes.back().size()) * 0.05;
  }
  std::vector<GptClip> clips;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    clips.push_back({.text = texts[i], .codes = codes[i]});
  }
  batch.number = options.position.step;
  batch.position = options.position;
  batch.ends_step = options.ends_step;
  batch.rows = to_batch(pack_rows(config, clips), c10::kCPU);
  batch.prompt_mel = made_mel(config, options);
  return batch;
}

std::unique_ptr<RoleDevice> one_cpu() {
  return open_cpu_role_device(Role::Model, {.threads = 1});
}

GptTrainingSettings plain_settings() {
  GptTrainingSettings settings;
  settings.dropout = 0.0;
  settings.slots = 8;
  return settings;
}

bool same_tensors(const NamedTensors& a, const NamedTensors& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a) {
    const auto other = b.find(name);
    if (other == b.end() || !at::equal(tensor, other->second)) return false;
  }
  return true;
}

NamedTensors cloned(const NamedTensors& tensors) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) result.emplace(name, tensor.clone());
  return result;
}

}  // namespace myxtts::test
