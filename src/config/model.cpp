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

// The networks around the GPT made smaller too. The DVAE has `dvae_width` in its codebook and twice
// that inside, the vocoder and the speaker encoder meet in `voice_width`, and the speaker encoder
// begins with so many filters.
ModelConfig scaled(ModelConfig config, std::int64_t codes, std::int64_t dvae_width,
                   std::int64_t voice_width, std::int64_t filters) {
  set_codes(config, codes);
  config.dvae.hidden = dvae_width;
  config.dvae.channels = 2 * dvae_width;
  config.dvae.codebook_dim = dvae_width;
  config.decoder.speaker_dim = voice_width;
  config.decoder.initial_channels = voice_width;
  config.speaker_encoder.filters = {filters, 2 * filters, 4 * filters, 8 * filters};
  config.speaker_encoder.output_dim = voice_width;
  return config;
}

// Learns on a laptop's processor.
ModelConfig tiny() {
  ModelConfig config = scaled(with_gpt(4, 128, 4), 256, 64, 64, 8);
  config.speaker_encoder.layers = {1, 1, 1, 1};
  return config;
}

void require(bool holds, std::string_view field, std::int64_t value, std::string_view allowed) {
  if (!holds) {
    throw ConfigError(fmt::format("The model's {} is {}; it must be {}.", field, value, allowed));
  }
}

void positive(std::string_view field, std::int64_t value) {
  require(value > 0, field, value, "at least 1");
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
  positive("gpt.layers", gpt.layers);
  positive("gpt.width", gpt.width);
  positive("gpt.heads", gpt.heads);
  positive("gpt.max_text_tokens", gpt.max_text_tokens);
  positive("gpt.max_audio_tokens", gpt.max_audio_tokens);
  // What the DVAE's two strided convolutions make of its spectrogram.
  require(gpt.code_stride == 1024, "gpt.code_stride", gpt.code_stride, "1024");
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

void validate_dvae(const DvaeConfig& dvae) {
  positive("dvae.mel_bands", dvae.mel_bands);
  positive("dvae.hidden", dvae.hidden);
  positive("dvae.channels", dvae.channels);
  positive("dvae.codebook_dim", dvae.codebook_dim);
  positive("dvae.codes", dvae.codes);
  positive("dvae.blocks", dvae.blocks);
}

void validate_rate(std::string_view field, std::int64_t rate) {
  require(rate >= 1'000 && rate <= 768'000, field, rate, "from 1000 to 768000");
}

void validate_decoder(const DecoderConfig& decoder) {
  constexpr std::size_t kMostParts = 8;
  constexpr std::int64_t kMostKernel = 1024;
  const auto each = [](std::string_view field, const std::vector<std::int64_t>& values) {
    for (const std::int64_t value : values) {
      require(value > 0 && value <= kMostKernel, field, value, "from 1 to 1024");
    }
  };
  positive("decoder.initial_channels", decoder.initial_channels);
  each("decoder.upsample_rates", decoder.upsample_rates);
  each("decoder.upsample_kernels", decoder.upsample_kernels);
  each("decoder.resblock_kernels", decoder.resblock_kernels);
  each("decoder.resblock_dilations", decoder.resblock_dilations);
  const auto stages = static_cast<std::int64_t>(decoder.upsample_rates.size());
  require(decoder.upsample_rates.size() <= kMostParts &&
              decoder.upsample_rates.size() == decoder.upsample_kernels.size(),
          "the length of decoder.upsample_rates", stages,
          "that of decoder.upsample_kernels, and at most 8");
  std::int64_t product = 1;
  for (const std::int64_t rate : decoder.upsample_rates) {
    if (product <= kMostKernel) product *= rate;  // else it is too large already
  }
  require(decoder.output_hop > 0 && product == decoder.output_hop, "decoder.output_hop",
          decoder.output_hop, fmt::format("the product of decoder.upsample_rates ({})", product));
  validate_rate("decoder.input_sample_rate", decoder.input_sample_rate);
  validate_rate("decoder.output_sample_rate", decoder.output_sample_rate);
}

void validate_speaker_encoder(const SpeakerEncoderConfig& encoder) {
  positive("speaker_encoder.mel_bands", encoder.mel_bands);
  positive("speaker_encoder.se_reduction", encoder.se_reduction);
  positive("speaker_encoder.attention_dim", encoder.attention_dim);
  positive("speaker_encoder.output_dim", encoder.output_dim);
  positive("speaker_encoder.window", encoder.window);
  positive("speaker_encoder.hop", encoder.hop);
  require(encoder.fft_size >= encoder.window && encoder.fft_size <= 65'536,
          "speaker_encoder.fft_size", encoder.fft_size,
          fmt::format("from speaker_encoder.window ({}) to 65536", encoder.window));
  validate_rate("speaker_encoder.sample_rate", encoder.sample_rate);
}

}  // namespace

const std::vector<std::string_view>& model_preset_names() {
  static const std::vector<std::string_view> names = {"tiny", "small", "normal", "big", "xtts-v2"};
  return names;
}

ModelConfig model_preset(std::string_view name) {
  if (name == "tiny") return tiny();
  if (name == "small") return scaled(with_gpt(8, 384, 6), 512, 192, 256, 16);
  // These keep the public shapes around the GPT, so that they export whole.
  if (name == "normal") return with_gpt(12, 768, 12);
  if (name == "big") return with_gpt(20, 1024, 16);
  if (name == "xtts-v2") return ModelConfig{};
  throw ConfigError(fmt::format("There is no model size \"{}\"; the sizes are {}.", name,
                                fmt::join(model_preset_names(), ", ")));
}

void validate(const ModelConfig& config) {
  validate_gpt(config.gpt);
  validate_dvae(config.dvae);
  validate_decoder(config.decoder);
  validate_speaker_encoder(config.speaker_encoder);
  require(config.decoder.input_dim == config.gpt.width, "decoder.input_dim",
          config.decoder.input_dim, fmt::format("gpt.width ({})", config.gpt.width));
  require(config.decoder.speaker_dim == config.speaker_encoder.output_dim, "decoder.speaker_dim",
          config.decoder.speaker_dim,
          fmt::format("speaker_encoder.output_dim ({})", config.speaker_encoder.output_dim));
  require(config.dvae.codes + 2 == config.gpt.audio_ids, "gpt.audio_ids", config.gpt.audio_ids,
          fmt::format("dvae.codes + 2 ({})", config.dvae.codes + 2));
}

}  // namespace myxtts
