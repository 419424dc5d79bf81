// SPDX-License-Identifier: Apache-2.0
#include "model/speaker_encoder_specs.h"

#include <fmt/format.h>

#include "model/conv_specs.h"

namespace myxtts {
namespace {

const std::string kFilters = "speaker_encoder.filters";

void append_conv2d(TensorSpecs& specs, const std::string& name,
                   const std::vector<std::int64_t>& shape) {
  specs.push_back({.name = name + ".weight",
                   .shape = shape,
                   .init = Init::KaimingFanOut,
                   .explained_by = kFilters});
}

struct Block {
  std::string name;
  std::int64_t inputs;
  std::int64_t channels;
  bool downsamples;
};

void append_block(TensorSpecs& specs, const Block& block, std::int64_t reduction) {
  const auto channels = block.channels;
  append_conv2d(specs, block.name + ".conv1", {channels, block.inputs, 3, 3});
  append_batch_norm(specs, block.name + ".bn1", channels, kFilters);
  append_conv2d(specs, block.name + ".conv2", {channels, channels, 3, 3});
  append_batch_norm(specs, block.name + ".bn2", channels, kFilters);
  append_layer(specs, {block.name + ".se.fc.0", {channels / reduction, channels}, kFilters});
  append_layer(specs, {block.name + ".se.fc.2", {channels, channels / reduction}, kFilters});
  if (block.downsamples) {
    append_conv2d(specs, block.name + ".downsample.0", {channels, block.inputs, 1, 1});
    append_batch_norm(specs, block.name + ".downsample.1", channels, kFilters);
  }
}

void append_layers(TensorSpecs& specs, const SpeakerEncoderConfig& config) {
  auto inputs = config.filters[0];
  for (std::size_t layer = 0; layer < config.layers.size(); ++layer) {
    for (std::int64_t block = 0; block < config.layers[layer]; ++block) {
      append_block(specs,
                   {.name = fmt::format("layer{}.{}", layer + 1, block),
                    .inputs = inputs,
                    .channels = config.filters[layer],
                    .downsamples = block == 0 && layer > 0},
                   config.se_reduction);
      inputs = config.filters[layer];
    }
  }
}

void append_front_end(TensorSpecs& specs, const SpeakerEncoderConfig& config) {
  const auto append = [&](const char* name, const std::vector<std::int64_t>& shape,
                          const char* field) {
    specs.push_back({.name = name,
                     .shape = shape,
                     .init = Init::Constant,
                     .role = TensorRole::Buffer,
                     .explained_by = field});
  };
  append("torch_spec.0.filter", {1, 1, 2}, "");
  append("torch_spec.1.spectrogram.window", {config.window}, "speaker_encoder.window");
  append("torch_spec.1.mel_scale.fb", {config.fft_size / 2 + 1, config.mel_bands},
         "speaker_encoder.mel_bands");
}

void append_pooling(TensorSpecs& specs, const SpeakerEncoderConfig& config) {
  const auto features = config.filters.back() * (config.mel_bands / 8);
  append_layer(
      specs, {"attention.0", {config.attention_dim, features, 1}, "speaker_encoder.attention_dim"});
  append_batch_norm(specs, "attention.2", config.attention_dim, "speaker_encoder.attention_dim");
  append_layer(
      specs, {"attention.3", {features, config.attention_dim, 1}, "speaker_encoder.attention_dim"});
  append_layer(specs, {"fc", {config.output_dim, 2 * features}, "speaker_encoder.output_dim"});
}

}  // namespace

TensorSpecs speaker_encoder_specs(const SpeakerEncoderConfig& config) {
  TensorSpecs specs;
  append_conv2d(specs, "conv1", {config.filters[0], 1, 3, 3});
  specs.push_back({.name = "conv1.bias",
                   .shape = {config.filters[0]},
                   .init = Init::Uniform,
                   .scale = 1.0 / 3.0,  // fan in is 9
                   .explained_by = kFilters});
  append_batch_norm(specs, "bn1", config.filters[0], kFilters);
  append_layers(specs, config);
  append_front_end(specs, config);
  append_pooling(specs, config);
  return specs;
}

}  // namespace myxtts
