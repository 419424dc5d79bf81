// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "config/networks.h"

namespace myxtts {

// The sizes of the GPT with its conditioning. The defaults are the public XTTS v2.
struct GptConfig {
  std::int64_t layers = 30;
  std::int64_t width = 1024;
  std::int64_t heads = 16;

  std::int64_t text_ids = 6681;  // rows of the text embedding: the largest id of the vocabulary + 1
  std::int64_t start_text = 261;
  std::int64_t stop_text = 0;
  std::int64_t audio_ids = 1026;  // the DVAE's codes, start and stop
  std::int64_t start_audio = 1024;
  std::int64_t stop_audio = 1025;

  std::int64_t max_text_tokens = 402;
  std::int64_t max_audio_tokens = 605;
  std::int64_t max_prompt_tokens = 70;
  std::int64_t code_stride = 1024;  // samples that one code stands for

  // The Python peer fixes these; every preset keeps them, so that it can hold our GPT.
  std::int64_t mel_bands = 80;
  std::int64_t conditioning_blocks = 6;
  std::int64_t perceiver_latents = 32;
  std::int64_t perceiver_depth = 2;
  std::int64_t perceiver_heads = 8;
  std::int64_t perceiver_head_width = 64;

  bool operator==(const GptConfig&) const = default;

  std::int64_t head_width() const { return width / heads; }
  std::int64_t perceiver_width() const { return perceiver_heads * perceiver_head_width; }
  std::int64_t text_positions() const { return max_text_tokens + 2; }
  std::int64_t audio_positions() const { return max_audio_tokens + 3; }
};

// A whole model: what config.json of a model directory says about shapes.
struct ModelConfig {
  GptConfig gpt;
  DvaeConfig dvae;
  DecoderConfig decoder;
  SpeakerEncoderConfig speaker_encoder;

  bool operator==(const ModelConfig&) const = default;
};

// The names of the presets, smallest first.
const std::vector<std::string_view>& model_preset_names();

// The sizes called `name`. Throws ConfigError, which lists the names, if there are none.
ModelConfig model_preset(std::string_view name);

// Throws ConfigError naming the first field that no network could be built with, its value and what
// is allowed.
void validate(const ModelConfig& config);

}  // namespace myxtts
