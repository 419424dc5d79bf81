// SPDX-License-Identifier: Apache-2.0
#include "model/network_specs.h"

#include <fmt/format.h>

#include "model/tensor_spec.h"

namespace myxtts {
namespace {

constexpr std::int64_t kDiscreteLossSteps = 100;  // rows of a buffer that nothing reads

void append_blocks(TensorSpecs& specs, const std::string& side, std::int64_t first,
                   const DvaeConfig& config) {
  const auto width = config.channels;
  for (std::int64_t block = first; block < first + config.blocks; ++block) {
    const std::string name = fmt::format("{}.{}.net.", side, block);
    append_layer(specs, name + "0", {width, width, 3}, "dvae.channels");
    append_layer(specs, name + "2", {width, width, 3}, "dvae.channels");
    append_layer(specs, name + "4", {width, width, 1}, "dvae.channels");
  }
}

void append_encoder(TensorSpecs& specs, const DvaeConfig& config) {
  append_layer(specs, "encoder.0.0", {config.hidden, config.mel_bands, 3}, "dvae.hidden");
  append_layer(specs, "encoder.1.0", {config.channels, config.hidden, 3}, "dvae.channels");
  append_blocks(specs, "encoder", 2, config);
  append_layer(specs, fmt::format("encoder.{}", config.blocks + 2),
               {config.codebook_dim, config.channels, 1}, "dvae.codebook_dim");
}

void append_decoder(TensorSpecs& specs, const DvaeConfig& config) {
  const auto after_blocks = config.blocks + 1;
  append_layer(specs, "decoder.0", {config.channels, config.codebook_dim, 1}, "dvae.channels");
  append_blocks(specs, "decoder", 1, config);
  append_layer(specs, fmt::format("decoder.{}.0.conv", after_blocks),
               {config.channels, config.channels, 3}, "dvae.channels");
  append_layer(specs, fmt::format("decoder.{}.0.conv", after_blocks + 1),
               {config.hidden, config.channels, 3}, "dvae.hidden");
  append_layer(specs, fmt::format("decoder.{}", after_blocks + 2),
               {config.mel_bands, config.hidden, 1}, "dvae.mel_bands");
}

void append_buffers(TensorSpecs& specs, const DvaeConfig& config) {
  specs.push_back({.name = "codebook.embed",
                   .shape = {config.codebook_dim, config.codes},
                   .init = Init::Normal,
                   .scale = 1.0,
                   .role = TensorRole::Buffer,
                   .explained_by = "dvae.codes"});
  specs.push_back({.name = "codebook.cluster_size",
                   .shape = {config.codes},
                   .role = TensorRole::Buffer,
                   .explained_by = "dvae.codes"});
  specs.push_back({.name = "codebook.embed_avg",
                   .shape = {config.codebook_dim, config.codes},
                   .init = Init::CopyOf,
                   .role = TensorRole::Buffer,
                   .explained_by = "dvae.codes",
                   .source = "codebook.embed"});
}

void append_discrete_loss(TensorSpecs& specs, const DvaeConfig& config) {
  for (const char* counter : {"accumulator_index", "accumulator_filled"}) {
    specs.push_back({.name = fmt::format("discrete_loss.{}", counter),
                     .shape = {1},
                     .role = TensorRole::Counter});
  }
  specs.push_back({.name = "discrete_loss.accumulator",
                   .shape = {kDiscreteLossSteps, config.codes},
                   .role = TensorRole::Buffer,
                   .explained_by = "dvae.codes"});
}

}  // namespace

TensorSpecs dvae_specs(const DvaeConfig& config) {
  TensorSpecs specs;
  append_discrete_loss(specs, config);
  append_encoder(specs, config);
  append_decoder(specs, config);
  append_buffers(specs, config);
  return specs;
}

namespace {

std::int64_t stage_channels(const DecoderConfig& config, std::size_t stage) {
  return config.initial_channels >> (stage + 1);
}

void append_upsamplers(TensorSpecs& specs, const DecoderConfig& config) {
  for (std::size_t stage = 0; stage < config.upsample_rates.size(); ++stage) {
    const auto channels = stage_channels(config, stage);
    append_weight_normed(specs, fmt::format("ups.{}", stage),
                         {2 * channels, channels, config.upsample_kernels[stage]},
                         "decoder.upsample_kernels", channels);
  }
}

void append_resblock(TensorSpecs& specs, const std::string& name, std::int64_t channels,
                     std::int64_t kernel, std::size_t dilations) {
  for (const char* half : {"convs1", "convs2"}) {
    for (std::size_t index = 0; index < dilations; ++index) {
      append_weight_normed(specs, fmt::format("{}.{}.{}", name, half, index),
                           {channels, channels, kernel}, "decoder.resblock_kernels", channels);
    }
  }
}

void append_resblocks(TensorSpecs& specs, const DecoderConfig& config) {
  std::size_t block = 0;
  for (std::size_t stage = 0; stage < config.upsample_rates.size(); ++stage) {
    for (const auto kernel : config.resblock_kernels) {
      append_resblock(specs, fmt::format("resblocks.{}", block++), stage_channels(config, stage),
                      kernel, config.resblock_dilations.size());
    }
  }
}

void append_conditioning(TensorSpecs& specs, const DecoderConfig& config) {
  append_layer(specs, "cond_layer", {config.initial_channels, config.speaker_dim, 1},
               "decoder.speaker_dim");
  for (std::size_t stage = 0; stage < config.upsample_rates.size(); ++stage) {
    append_layer(specs, fmt::format("conds.{}", stage),
                 {stage_channels(config, stage), config.speaker_dim, 1}, "decoder.speaker_dim");
  }
}

}  // namespace

TensorSpecs decoder_specs(const DecoderConfig& config) {
  TensorSpecs specs;
  append_layer(specs, "conv_pre", {config.initial_channels, config.input_dim, 7},
               "decoder.input_dim");
  append_upsamplers(specs, config);
  append_resblocks(specs, config);
  append_layer_without_bias(specs, "conv_post",
                            {1, stage_channels(config, config.upsample_rates.size() - 1), 7},
                            "decoder.initial_channels");
  append_conditioning(specs, config);
  return specs;
}

namespace {

const std::string kFilters = "speaker_encoder.filters";

void append_conv2d(TensorSpecs& specs, const std::string& name,
                   const std::vector<std::int64_t>& shape) {
  specs.push_back({.name = name + ".weight",
                   .shape = shape,
                   .init = Init::KaimingFanOut,
                   .explained_by = kFilters});
}

void append_block(TensorSpecs& specs, const std::string& name, std::int64_t inputs,
                  std::int64_t channels, std::int64_t reduction) {
  append_conv2d(specs, name + ".conv1", {channels, inputs, 3, 3});
  append_batch_norm(specs, name + ".bn1", channels, kFilters);
  append_conv2d(specs, name + ".conv2", {channels, channels, 3, 3});
  append_batch_norm(specs, name + ".bn2", channels, kFilters);
  append_layer(specs, name + ".se.fc.0", {channels / reduction, channels}, kFilters);
  append_layer(specs, name + ".se.fc.2", {channels, channels / reduction}, kFilters);
}

void append_layers(TensorSpecs& specs, const SpeakerEncoderConfig& config) {
  auto inputs = config.filters[0];
  for (std::size_t layer = 0; layer < config.layers.size(); ++layer) {
    for (std::int64_t block = 0; block < config.layers[layer]; ++block) {
      const std::string name = fmt::format("layer{}.{}", layer + 1, block);
      const auto channels = config.filters[layer];
      append_block(specs, name, inputs, channels, config.se_reduction);
      if (block == 0 && layer > 0) {
        append_conv2d(specs, name + ".downsample.0", {channels, inputs, 1, 1});
        append_batch_norm(specs, name + ".downsample.1", channels, kFilters);
      }
      inputs = channels;
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
  append_layer(specs, "attention.0", {config.attention_dim, features, 1},
               "speaker_encoder.attention_dim");
  append_batch_norm(specs, "attention.2", config.attention_dim, "speaker_encoder.attention_dim");
  append_layer(specs, "attention.3", {features, config.attention_dim, 1},
               "speaker_encoder.attention_dim");
  append_layer(specs, "fc", {config.output_dim, 2 * features}, "speaker_encoder.output_dim");
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
