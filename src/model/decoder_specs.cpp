// SPDX-License-Identifier: Apache-2.0
#include "model/decoder_specs.h"

#include <fmt/format.h>

#include "model/conv_specs.h"

namespace myxtts {
namespace {

std::int64_t stage_channels(const DecoderConfig& config, std::size_t stage) {
  return config.initial_channels >> (stage + 1);
}

void append_upsamplers(TensorSpecs& specs, const DecoderConfig& config) {
  for (std::size_t stage = 0; stage < config.upsample_rates.size(); ++stage) {
    const auto channels = stage_channels(config, stage);
    append_weight_normed(specs,
                         {fmt::format("ups.{}", stage),
                          {2 * channels, channels, config.upsample_kernels[stage]},
                          "decoder.upsample_kernels"},
                         channels);
  }
}

void append_resblock(TensorSpecs& specs, const std::string& name, std::int64_t channels,
                     std::int64_t kernel, std::size_t dilations) {
  for (const char* half : {"convs1", "convs2"}) {
    for (std::size_t index = 0; index < dilations; ++index) {
      append_weight_normed(specs,
                           {fmt::format("{}.{}.{}", name, half, index),
                            {channels, channels, kernel},
                            "decoder.resblock_kernels"},
                           channels);
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
  append_layer(
      specs,
      {"cond_layer", {config.initial_channels, config.speaker_dim, 1}, "decoder.speaker_dim"});
  for (std::size_t stage = 0; stage < config.upsample_rates.size(); ++stage) {
    append_layer(specs, {fmt::format("conds.{}", stage),
                         {stage_channels(config, stage), config.speaker_dim, 1},
                         "decoder.speaker_dim"});
  }
}

}  // namespace

TensorSpecs decoder_specs(const DecoderConfig& config) {
  TensorSpecs specs;
  append_layer(specs,
               {"conv_pre", {config.initial_channels, config.input_dim, 7}, "decoder.input_dim"});
  append_upsamplers(specs, config);
  append_resblocks(specs, config);
  append_layer_without_bias(specs,
                            {"conv_post",
                             {1, stage_channels(config, config.upsample_rates.size() - 1), 7},
                             "decoder.initial_channels"});
  append_conditioning(specs, config);
  return specs;
}

}  // namespace myxtts
