// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/decoder_batches.h"
#include "device/torch_device.h"

#include <cmath>
#include <numbers>

#include <ATen/ATen.h>

#include "base/random.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/vocoder.h"
#include "support/training_batches.h"

namespace myxtts::test {
namespace {

constexpr std::int64_t kClips = 2;

// A clip's tone has another pitch every four frames.
at::Tensor tones(const DecoderConfig& config, std::int64_t clip, std::int64_t first_frame,
                 std::uint64_t seed) {
  const RandomStream pitches(seed, "pitch");
  const std::int64_t samples = kTestFrames * config.output_hop;
  auto sound = at::empty({samples});
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t sample = first_frame * config.output_hop + i;
    const auto group = static_cast<std::uint64_t>(clip * 100 + sample / (4 * config.output_hop));
    const double hertz = 200.0 + 4000.0 * pitches.uniform(group);
    const double phase = 2 * std::numbers::pi * hertz * static_cast<double>(sample) /
                         static_cast<double>(config.output_sample_rate);
    sound.mutable_data_ptr<float>()[i] = static_cast<float>(0.3 * std::sin(phase));
  }
  return sound;
}

}  // namespace

ModelConfig small_speaking_model() {
  ModelConfig config = model_preset("tiny");
  config.gpt = small_gpt();
  config.decoder.input_dim = config.gpt.width;
  config.decoder.speaker_dim = 8;
  config.decoder.initial_channels = 32;
  config.speaker_encoder.output_dim = 8;
  return config;
}

NamedTensors random_speaking_weights(const ModelConfig& config, std::uint64_t seed) {
  NamedTensors weights = random_gpt_weights(config.gpt, seed);
  for (const auto& [name, tensor] : initialise(decoder_specs(config.decoder), seed)) {
    weights.emplace(kDecoderPrefix + name, tensor);
  }
  return weights;
}

DeviceBatch decoder_batch(const ModelConfig& config, const RoleDevice& device,
                          const BatchSeeds& seeds) {
  DeviceBatch batch = random_batch(
      config.gpt, device, {.clips = kClips, .fewest_codes = 12, .most_codes = 16}, seeds.codes);
  const std::vector<std::int64_t> clips = {0, 0, 1, 1};
  const std::vector<std::int64_t> firsts = {0, 20, 9, 31};
  std::vector<at::Tensor> sound;
  for (std::size_t i = 0; i < clips.size(); ++i) {
    sound.push_back(tones(config.decoder, clips[i], firsts[i], seeds.sound));
  }
  const auto on = torch_device(device);
  batch.windows = {.weights = at::ones({kTestWindows}).to(on),
                   .clips = at::tensor(clips).to(on),
                   .mel = {},
                   .sound = at::stack(sound).to(on),
                   .first_frames = at::tensor(firsts).to(on),
                   .voices = at::full({kClips, config.decoder.speaker_dim}, 0.3).to(on),
                   .speakers = {}};
  return batch;
}

}  // namespace myxtts::test
