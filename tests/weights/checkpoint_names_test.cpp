// SPDX-License-Identifier: Apache-2.0
#include "weights/checkpoint_names.h"

#include <gtest/gtest.h>

namespace myxtts::test::checkpoint_names_test {
namespace {

void expect_name(std::string_view in_file, CheckpointPart part, std::string_view name) {
  const auto other = part == CheckpointPart::Model ? CheckpointPart::Dvae : CheckpointPart::Model;
  EXPECT_EQ(public_name(in_file, part), name) << in_file;
  EXPECT_EQ(public_name(in_file, other), std::nullopt) << in_file;
}

TEST(CheckpointNames, PublicNamesStayAsTheyAre) {
  for (const char* name :
       {"gpt.gpt.h.0.attn.c_attn.bias", "gpt.text_embedding.weight", "mel_stats",
        "hifigan_decoder.waveform_decoder.ups.0.parametrizations.weight.original0"}) {
    expect_name(name, CheckpointPart::Model, name);
  }
}

TEST(CheckpointNames, ATrainersPrefixIsTakenOff) {
  expect_name("xtts.gpt.mel_head.bias", CheckpointPart::Model, "gpt.mel_head.bias");
  expect_name("dvae.encoder.0.0.weight", CheckpointPart::Dvae, "encoder.0.0.weight");
}

TEST(CheckpointNames, WeightNormalisationGetsItsPresentNames) {
  expect_name("hifigan_decoder.waveform_decoder.ups.1.weight_g", CheckpointPart::Model,
              "hifigan_decoder.waveform_decoder.ups.1.parametrizations.weight.original0");
  expect_name("xtts.hifigan_decoder.waveform_decoder.ups.1.weight_v", CheckpointPart::Model,
              "hifigan_decoder.waveform_decoder.ups.1.parametrizations.weight.original1");
}

TEST(CheckpointNames, CopiesMasksAndFilterBanksAreLeftOut) {
  for (const char* name :
       {"torch_mel_spectrogram_dvae.mel_stft.mel_scale.fb",
        "torch_mel_spectrogram_style_encoder.mel_stft.spectrogram.window",
        "gpt.gpt_inference.transformer.h.0.ln_1.weight", "xtts.gpt.gpt.wte.weight",
        "gpt.gpt.h.3.attn.bias", "gpt.gpt.h.3.attn.masked_bias"}) {
    EXPECT_EQ(public_name(name, CheckpointPart::Model), std::nullopt) << name;
    EXPECT_EQ(public_name(name, CheckpointPart::Dvae), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace myxtts::test::checkpoint_names_test
