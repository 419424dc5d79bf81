// SPDX-License-Identifier: Apache-2.0
#include "config/model.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::model_test {
namespace {

// The sentence that `validate` throws, or an empty one.
std::string refusal(const ModelConfig& config) {
  try {
    validate(config);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(ModelPreset, EveryNamedSizeIsValid) {
  for (const auto name : model_preset_names()) EXPECT_EQ(refusal(model_preset(name)), "") << name;
}

TEST(ModelPreset, AnUnknownSizeIsRefusedWithTheListOfSizes) {
  try {
    model_preset("huge");
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "There is no model size \"huge\"; the sizes are tiny, small, normal, big, xtts-v2.");
  }
}

TEST(ModelPreset, TheSizesThatExportKeepThePublicShapesAroundTheGpt) {
  const ModelConfig xtts = model_preset("xtts-v2");
  for (const auto name : {"normal", "big"}) {
    const ModelConfig config = model_preset(name);
    DecoderConfig decoder = xtts.decoder;
    decoder.input_dim = config.gpt.width;
    EXPECT_EQ(config.dvae, xtts.dvae) << name;
    EXPECT_EQ(config.decoder, decoder) << name;
    EXPECT_EQ(config.speaker_encoder, xtts.speaker_encoder) << name;
  }
}

TEST(ModelConfig, AWidthThatTheHeadsDoNotDivideIsNamedInTheRefusal) {
  ModelConfig config = model_preset("tiny");
  config.gpt.heads = 5;
  EXPECT_EQ(refusal(config),
            "The model's gpt.width is 128; it must be a multiple of gpt.heads (5).");
}

TEST(ModelConfig, ADecoderThatDoesNotFitTheGptIsNamedInTheRefusal) {
  ModelConfig config = model_preset("tiny");
  config.decoder.input_dim = 1024;
  EXPECT_EQ(refusal(config), "The model's decoder.input_dim is 1024; it must be gpt.width (128).");
}

TEST(ModelConfig, AStopCodeOutsideTheEmbeddingIsNamedInTheRefusal) {
  ModelConfig config = model_preset("tiny");
  config.gpt.stop_audio = 258;
  EXPECT_EQ(refusal(config),
            "The model's gpt.stop_audio is 258; it must be from 0 to 257 (gpt.audio_ids - 1).");
}

TEST(ModelConfig, ACodebookThatTheGptCannotSpeakIsNamedInTheRefusal) {
  ModelConfig config = model_preset("tiny");
  config.dvae.codes = 1024;
  EXPECT_EQ(refusal(config), "The model's gpt.audio_ids is 258; it must be dvae.codes + 2 (1026).");
}

// Numbers that no tensor's shape depends on, so that weights do not give them away.
TEST(ModelConfig, WhatWouldDivideByNothingOrNeverEndIsRefused) {
  using Change = void (*)(ModelConfig&);
  const std::vector<std::pair<Change, std::string>> changes{
      {[](ModelConfig& c) { c.gpt.code_stride = 1; }, "gpt.code_stride is 1"},
      {[](ModelConfig& c) {
         c.decoder.upsample_rates = {8, 8, 2, 0};
       },
       "upsample_rates is 0"},
      {[](ModelConfig& c) { c.decoder.upsample_rates.pop_back(); }, "upsample_rates is 3"},
      {[](ModelConfig& c) {
         c.decoder.upsample_rates = {1000, 1000, 1000, 1000};
       },
       "output_hop is 256"},
      {[](ModelConfig& c) { c.decoder.output_hop = 0; }, "output_hop is 0"},
      {[](ModelConfig& c) { c.decoder.output_sample_rate = 0; }, "output_sample_rate is 0"},
      {[](ModelConfig& c) { c.speaker_encoder.hop = 0; }, "speaker_encoder.hop is 0"},
      {[](ModelConfig& c) { c.speaker_encoder.window = 600; }, "fft_size is 512"},
      {[](ModelConfig& c) { c.speaker_encoder.sample_rate = -1; }, "sample_rate is -1"},
      {[](ModelConfig& c) { c.dvae.blocks = 0; }, "dvae.blocks is 0"}};
  for (const auto& [change, sentence] : changes) {
    ModelConfig config = model_preset("tiny");
    change(config);
    EXPECT_NE(refusal(config).find(sentence), std::string::npos) << refusal(config);
  }
}

}  // namespace
}  // namespace myxtts::model_test
