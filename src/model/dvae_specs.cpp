// SPDX-License-Identifier: Apache-2.0
#include "model/dvae_specs.h"

#include <fmt/format.h>

#include "model/conv_specs.h"

namespace myxtts {
namespace {

constexpr std::int64_t kDiscreteLossSteps = 100;  // rows of a buffer that nothing reads

void append_blocks(TensorSpecs& specs, const std::string& side, std::int64_t first,
                   const DvaeConfig& config) {
  const auto width = config.channels;
  for (std::int64_t block = first; block < first + config.blocks; ++block) {
    const std::string name = fmt::format("{}.{}.net.", side, block);
    append_layer(specs, {name + "0", {width, width, 3}, "dvae.channels"});
    append_layer(specs, {name + "2", {width, width, 3}, "dvae.channels"});
    append_layer(specs, {name + "4", {width, width, 1}, "dvae.channels"});
  }
}

void append_encoder(TensorSpecs& specs, const DvaeConfig& config) {
  append_layer(specs, {"encoder.0.0", {config.hidden, config.mel_bands, 3}, "dvae.hidden"});
  append_layer(specs, {"encoder.1.0", {config.channels, config.hidden, 3}, "dvae.channels"});
  append_blocks(specs, "encoder", 2, config);
  append_layer(specs, {fmt::format("encoder.{}", config.blocks + 2),
                       {config.codebook_dim, config.channels, 1},
                       "dvae.codebook_dim"});
}

void append_decoder(TensorSpecs& specs, const DvaeConfig& config) {
  const auto after_blocks = config.blocks + 1;
  append_layer(specs, {"decoder.0", {config.channels, config.codebook_dim, 1}, "dvae.channels"});
  append_blocks(specs, "decoder", 1, config);
  append_layer(specs, {fmt::format("decoder.{}.0.conv", after_blocks),
                       {config.channels, config.channels, 3},
                       "dvae.channels"});
  append_layer(specs, {fmt::format("decoder.{}.0.conv", after_blocks + 1),
                       {config.hidden, config.channels, 3},
                       "dvae.hidden"});
  append_layer(specs, {fmt::format("decoder.{}", after_blocks + 2),
                       {config.mel_bands, config.hidden, 1},
                       "dvae.mel_bands"});
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

}  // namespace myxtts
