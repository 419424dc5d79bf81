// SPDX-License-Identifier: Apache-2.0
#include "model/vocoder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "model/network_specs.h"
#include "support/every_tensor_matters.h"
#include "support/formula_weights.h"
#include "support/golden.h"
#include "support/small_networks.h"

namespace myxtts::test::decoder_test {
namespace {

NamedTensors small_weights() {
  return formula_weights(decoder_specs(small_decoder()), "small.decoder.");
}

at::Tensor small_latents() {
  return formula_values("small.latents", {2, 5, 48}) * 2;
}
at::Tensor small_speaker() {
  return formula_values("small.speaker", {2, 20, 1});
}

TEST(Decoder, GivesTheWaveOfTheGolden) {
  const auto golden = read_golden("networks/small.safetensors").at("decoder.wave");
  const Decoder decoder(small_decoder(), small_weights(), "");
  const auto wave = decoder(small_latents(), small_speaker());
  EXPECT_LE(relative_error(wave, golden), 2e-6);
  EXPECT_LE(max_abs_difference(wave, golden), 1e-5);
}

TEST(Decoder, InThePublicShapeGivesTheWaveOfTheGolden) {
  const auto golden = read_golden("networks/public.safetensors").at("decoder.wave");
  const Decoder decoder({}, formula_weights(decoder_specs({}), "public.decoder."), "");
  const auto wave = decoder(formula_values("public.latents", {1, 7, 1024}) * 2,
                            formula_values("public.speaker", {1, 512, 1}) * 0.08);
  EXPECT_LE(relative_error(wave, golden), 1e-5);
  EXPECT_LE(max_abs_difference(wave, golden), 1e-4);
}

TEST(Decoder, RowsOfABatchDoNotTouchEachOther) {
  const Decoder decoder(small_decoder(), small_weights(), "");
  const auto both = decoder(small_latents(), small_speaker());
  const auto second = decoder(small_latents().narrow(0, 1, 1), small_speaker().narrow(0, 1, 1));
  EXPECT_LE(max_abs_difference(both.narrow(0, 1, 1), second), 1e-5);
}

// Weight norm is taken apart while training: the gradients reach gain and direction.
TEST(Decoder, GradientsOfEveryParameterEqualTheGolden) {
  const auto golden = read_golden("networks/small.safetensors");
  auto weights = small_weights();
  for (auto& [name, tensor] : weights) tensor.requires_grad_(true);
  auto latents = small_latents().requires_grad_(true);
  auto speaker = small_speaker().requires_grad_(true);
  const Decoder decoder(small_decoder(), weights, "");
  const auto wave = decoder(latents, speaker);
  (wave * formula_values("small.decoder.loss", wave.sizes().vec())).mean().backward();

  EXPECT_LE(relative_error(latents.grad(), golden.at("decoder.grad.latents")), 1e-5);
  EXPECT_LE(relative_error(speaker.grad(), golden.at("decoder.grad.speaker")), 1e-5);
  for (const auto& [name, tensor] : weights) {
    // A gain's gradient is what is left where thousands of products cancel: another order of adding
    // them changes its fifth digit. A step that is wrong changes its first or second.
    EXPECT_LE(relative_error(tensor.grad().norm(), golden.at("decoder.grad_norm." + name)), 1e-4)
        << name;
    const auto whole = golden.find("decoder.grad." + name);
    if (whole == golden.end()) continue;
    EXPECT_LE(relative_error(tensor.grad(), whole->second), 2e-5) << name;
  }
}

TEST(Decoder, ForTrainingGivesTheSameWaveAsFolded) {
  auto weights = small_weights();
  const auto folded = Decoder(small_decoder(), weights, "")(small_latents(), small_speaker());
  for (auto& [name, tensor] : weights) tensor.requires_grad_(true);
  const auto training = Decoder(small_decoder(), weights, "")(small_latents(), small_speaker());
  EXPECT_TRUE(training.requires_grad());
  EXPECT_TRUE(training.equal(folded));
}

TEST(Decoder, EveryTensorMatters) {
  const DecoderConfig config{.input_dim = 8,
                             .speaker_dim = 4,
                             .initial_channels = 16,
                             .upsample_rates = {4, 2},
                             .upsample_kernels = {8, 4},
                             .resblock_kernels = {3, 7},
                             .output_hop = 8,
                             .code_stride = 32};
  const auto outputs = [&](const NamedTensors& tensors) {
    return Decoder(config, tensors, "")(formula_values("latents", {1, 5, 8}),
                                        formula_values("speaker", {1, 4, 1}));
  };
  const auto weights = formula_weights(decoder_specs(config), "");
  EXPECT_EQ(tensors_without_effect(weights, outputs), std::vector<std::string>());
}

TEST(Decoder, FramesFollowTheTwoStretchings) {
  const Decoder decoder(small_decoder(), small_weights(), "");
  for (const std::int64_t codes : {1, 2, 5, 147}) {
    EXPECT_EQ(decoder.frames(at::zeros({1, codes, 48})).size(2), 4 * codes * 160 / 147) << codes;
  }
}

TEST(ChangeSpeed, StretchesToTheFloorOfTheLengthAndKeepsSpeedOne) {
  const auto latents = small_latents();
  EXPECT_TRUE(change_speed(latents, 1.0).equal(latents));
  EXPECT_EQ(change_speed(latents, 0.75).size(1), 6);
  EXPECT_EQ(change_speed(latents, 2.0).size(1), 2);
  EXPECT_EQ(change_speed(latents, 0.0).size(1), 100);
}

TEST(ChangeSpeed, PlacesItsSamplesByTheScale) {
  // Halved: each value lies midway between two of the ramp 0, 1, 2, ...
  const auto ramp = at::arange(6, at::kFloat).view({1, 6, 1});
  EXPECT_LE(
      max_abs_difference(change_speed(ramp, 2.0), at::tensor({0.5F, 2.5F, 4.5F}).view({1, 3, 1})),
      1e-6);
}

}  // namespace
}  // namespace myxtts::test::decoder_test
