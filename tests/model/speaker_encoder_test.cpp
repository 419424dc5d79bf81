// SPDX-License-Identifier: Apache-2.0
#include "model/speaker_encoder.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "model/network_specs.h"
#include "support/every_tensor_matters.h"
#include "support/formula_weights.h"
#include "support/golden.h"
#include "support/small_networks.h"

namespace myxtts::test::speaker_encoder_test {
namespace {

// With front-end tables that no formula gives: the stored ones must be used.
NamedTensors small_weights() {
  const auto golden = read_golden("networks/small.safetensors");
  auto weights =
      formula_weights(speaker_encoder_specs(small_speaker_encoder()), "small.speaker_encoder.");
  for (const char* table : {"0.filter", "1.spectrogram.window", "1.mel_scale.fb"}) {
    weights.emplace(std::string("torch_spec.") + table,
                    golden.at(std::string("speaker_encoder.") + table));
  }
  return weights;
}

at::Tensor small_wave() {
  return formula_values("small.wave", {2, 8000}) * 0.5;
}

double cosine(const at::Tensor& a, const at::Tensor& b) {
  return at::cosine_similarity(a.to(at::kDouble), b.to(at::kDouble), 1).min().item<double>();
}

TEST(SpeakerEncoder, GivesTheVectorsOfTheGolden) {
  const auto golden = read_golden("networks/small.safetensors");
  const SpeakerEncoder encoder(small_speaker_encoder(), small_weights(), "");
  EXPECT_LE(relative_error(encoder.unscaled(small_wave()), golden.at("speaker_encoder.raw")), 2e-5);
  const auto vectors = encoder(small_wave());
  EXPECT_LE(relative_error(vectors, golden.at("speaker_encoder.vector")), 2e-5);
  EXPECT_GE(cosine(vectors, golden.at("speaker_encoder.vector")), 0.9999999);
}

TEST(SpeakerEncoder, InThePublicShapeGivesTheVectorOfTheGolden) {
  const auto golden = read_golden("networks/public.safetensors").at("speaker_encoder.vector");
  auto weights = formula_weights(speaker_encoder_specs({}), "public.speaker_encoder.");
  weights.merge(speaker_encoder_tables({}));
  const SpeakerEncoder encoder({}, weights, "");
  const auto speech = read_golden("audio/mels.safetensors").at("speech_16k");
  EXPECT_GE(cosine(encoder(speech), golden), 0.999999);
}

TEST(SpeakerEncoder, ANewEncodersTablesEqualTheGolden) {
  const auto golden = read_golden("audio/mels.safetensors");
  const auto tables = speaker_encoder_tables({});
  EXPECT_LE(
      max_abs_difference(tables.at("torch_spec.1.spectrogram.window"), golden.at("speaker.window")),
      1e-7);
  // A filter's slope is 1 over its width. At 8 kHz that is 300 Hz, and a power in fp32 may be off
  // by four units in the last place there, 2 mHz, at both of its ends.
  EXPECT_LE(
      max_abs_difference(tables.at("torch_spec.1.mel_scale.fb"), golden.at("speaker.filters")),
      2e-5);
  EXPECT_LE(max_abs_difference(tables.at("torch_spec.0.filter"),
                               at::tensor({-0.97F, 1.0F}).view({1, 1, 2})),
            0.0);
}

TEST(SpeakerEncoder, EveryTensorMattersButWhatTheNetworkDividesOut) {
  // As short as leaves attention several times to choose from: there is a pass for each tensor.
  const auto wave = small_wave().narrow(0, 0, 1).narrow(1, 0, 3200);
  const auto weights = small_weights();
  const auto outputs = [&](const NamedTensors& tensors) {
    return SpeakerEncoder(small_speaker_encoder(), tensors, "").unscaled(wave);
  };
  // A softmax over time does not see what is the same at every time, and the counters count batches
  // of a training long past.
  std::vector<std::string> without = {"attention.2.bias", "attention.2.running_mean",
                                      "attention.3.bias"};
  for (const auto& [name, tensor] : weights) {
    if (name.ends_with("num_batches_tracked")) without.push_back(name);
  }
  std::ranges::sort(without);
  EXPECT_EQ(tensors_without_effect(weights, outputs), without);
}

}  // namespace
}  // namespace myxtts::test::speaker_encoder_test
