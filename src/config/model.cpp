// SPDX-License-Identifier: Apache-2.0
#include "config/model.h"

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace myxtts {
namespace {

// Sets the number of codes everywhere it counts.
void set_codes(ModelConfig& config, std::int64_t codes) {
  config.dvae.codes = codes;
  config.gpt.start_audio = codes;
  config.gpt.stop_audio = codes + 1;
  config.gpt.audio_ids = codes + 2;
}

ModelConfig with_gpt(std::int64_t layers, std::int64_t width, std::int64_t heads) {
  ModelConfig config;
  config.gpt.layers = layers;
  config.gpt.width = width;
  config.gpt.heads = heads;
  config.decoder.input_dim = width;
  return config;
}

// Learns on a laptop's processor; every part is scaled.
ModelConfig tiny() {
  ModelConfig config = with_gpt(4, 128, 4);
  set_codes(config, 256);
  config.dvae.hidden = 64;
  config.dvae.channels = 128;
  config.dvae.codebook_dim = 64;
  config.decoder.speaker_dim = 64;
  config.decoder.initial_channels = 64;
  config.speaker_encoder.layers = {1, 1, 1, 1};
  config.speaker_encoder.filters = {8, 16, 32, 64};
  config.speaker_encoder.output_dim = 64;
  return config;
}

ModelConfig small() {
  ModelConfig config = with_gpt(8, 384, 6);
  set_codes(config, 512);
  config.dvae.hidden = 192;
  config.dvae.channels = 384;
  config.dvae.codebook_dim = 192;
  config.decoder.speaker_dim = 256;
  config.decoder.initial_channels = 256;
  config.speaker_encoder.filters = {16, 32, 64, 128};
  config.speaker_encoder.output_dim = 256;
  return config;
}

void require(bool holds, std::string_view field, std::int64_t value, std::string_view allowed) {
  if (!holds) {
    throw ConfigError(fmt::format("The model's {} is {}; it must be {}.", field, value, allowed));
  }
}

void validate_ids(const GptConfig& gpt) {
  const auto inside = [](std::int64_t id, std::int64_t ids) { return id >= 0 && id < ids; };
  const auto text = fmt::format("from 0 to {} (gpt.text_ids - 1)", gpt.text_ids - 1);
  const auto audio = fmt::format("from 0 to {} (gpt.audio_ids - 1)", gpt.audio_ids - 1);
  require(inside(gpt.start_text, gpt.text_ids), "gpt.start_text", gpt.start_text, text);
  require(inside(gpt.stop_text, gpt.text_ids), "gpt.stop_text", gpt.stop_text, text);
  require(inside(gpt.start_audio, gpt.audio_ids), "gpt.start_audio", gpt.start_audio, audio);
  require(inside(gpt.stop_audio, gpt.audio_ids), "gpt.stop_audio", gpt.stop_audio, audio);
}

void validate_gpt(const GptConfig& gpt) {
  const auto positive = [](std::string_view field, std::int64_t value) {
    require(value > 0, field, value, "at least 1");
  };
  positive("gpt.layers", gpt.layers);
  positive("gpt.width", gpt.width);
  positive("gpt.heads", gpt.heads);
  positive("gpt.max_text_tokens", gpt.max_text_tokens);
  positive("gpt.max_audio_tokens", gpt.max_audio_tokens);
  positive("gpt.code_stride", gpt.code_stride);
  positive("gpt.conditioning_blocks", gpt.conditioning_blocks);
  positive("gpt.perceiver_latents", gpt.perceiver_latents);
  positive("gpt.perceiver_depth", gpt.perceiver_depth);
  positive("gpt.perceiver_heads", gpt.perceiver_heads);
  positive("gpt.perceiver_head_width", gpt.perceiver_head_width);
  require(gpt.width % gpt.heads == 0, "gpt.width", gpt.width,
          fmt::format("a multiple of gpt.heads ({})", gpt.heads));
  // The group norm of the conditioning encoder needs more than two groups that divide the width.
  require(gpt.width % 4 == 0, "gpt.width", gpt.width, "a multiple of 4");
  validate_ids(gpt);
}

}  // namespace

const std::vector<std::string_view>& model_preset_names() {
  static const std::vector<std::string_view> names = {"tiny", "small", "normal", "big", "xtts-v2"};
  return names;
}

ModelConfig model_preset(std::string_view name) {
  if (name == "tiny") return tiny();
  if (name == "small") return small();
  // These keep the public shapes around the GPT, so that they export whole.
  if (name == "normal") return with_gpt(12, 768, 12);
  if (name == "big") return with_gpt(20, 1024, 16);
  if (name == "xtts-v2") return ModelConfig{};
  throw ConfigError(fmt::format("There is no model size \"{}\"; the sizes are {}.", name,
                                fmt::join(model_preset_names(), ", ")));
}

void validate(const ModelConfig& config) {
  validate_gpt(config.gpt);
  require(config.decoder.input_dim == config.gpt.width, "decoder.input_dim",
          config.decoder.input_dim, fmt::format("gpt.width ({})", config.gpt.width));
  require(config.decoder.speaker_dim == config.speaker_encoder.output_dim, "decoder.speaker_dim",
          config.decoder.speaker_dim,
          fmt::format("speaker_encoder.output_dim ({})", config.speaker_encoder.output_dim));
  require(config.dvae.codes + 2 == config.gpt.audio_ids, "gpt.audio_ids", config.gpt.audio_ids,
          fmt::format("dvae.codes + 2 ({})", config.dvae.codes + 2));
}

}  // namespace myxtts
