// SPDX-License-Identifier: Apache-2.0
#include "model/named_tensors.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "config/model.h"
#include "model/gpt_specs.h"
#include "model/network_specs.h"
#include "support/golden.h"

namespace myxtts::test::initialise_test {
namespace {

TensorSpecs some_specs() {
  return {{.name = "wide", .shape = {64, 64}, .init = Init::Normal, .scale = 1.0},
          {.name = "narrow", .shape = {64, 64}, .init = Init::Normal, .scale = 0.02},
          {.name = "even", .shape = {64, 64}, .init = Init::Uniform, .scale = 0.5},
          {.name = "conv", .shape = {32, 16, 3, 3}, .init = Init::KaimingFanOut},
          {.name = "gain", .shape = {8}, .init = Init::Ones},
          {.name = "count", .shape = {}, .role = TensorRole::Counter},
          {.name = "copy", .shape = {64, 64}, .init = Init::CopyOf, .source = "wide"},
          {.name = "length", .shape = {64, 1}, .init = Init::Constant, .source = "even"},
          {.name = "window", .shape = {5}, .init = Init::Constant}};
}

double deviation(const at::Tensor& tensor) {
  return tensor.std().item<double>();
}

TEST(Initialise, TensorsHaveTheDistributionsOfTheirSpecs) {
  const auto tensors = initialise(some_specs(), 1);
  EXPECT_NEAR(deviation(tensors.at("wide")), 1.0, 0.05);
  EXPECT_NEAR(deviation(tensors.at("narrow")), 0.02, 0.001);
  EXPECT_NEAR(deviation(tensors.at("even")), 0.5 / std::sqrt(3.0), 0.01);
  EXPECT_LE(tensors.at("even").abs().max().item<double>(), 0.5);
  EXPECT_NEAR(deviation(tensors.at("conv")), std::sqrt(2.0 / (32 * 9)), 0.004);
  EXPECT_TRUE(at::equal(tensors.at("gain"), at::ones({8})));
  EXPECT_EQ(tensors.at("count").scalar_type(), at::kLong);
}

TEST(Initialise, WavesTellNeighboursApartAndGoAtTheirPace) {
  const auto waves =
      initialise({{.name = "slow", .shape = {40, 8}, .init = Init::Waves, .scale = 1},
                  {.name = "fast", .shape = {20, 8}, .init = Init::Waves, .scale = 2}},
                 1);
  const auto& slow = waves.at("slow");
  EXPECT_NEAR(slow[3][0].item<double>(), std::sin(3.0), 1e-6);
  EXPECT_NEAR(slow[3][1].item<double>(), std::cos(3.0), 1e-6);
  EXPECT_NEAR(slow[3][2].item<double>(), std::sin(3.0 / 10), 1e-6);
  for (std::int64_t row = 0; row < 20; ++row) {
    EXPECT_LE(relative_error(waves.at("fast")[row], slow[2 * row]), 1e-6) << row;
  }
}

TEST(Initialise, DerivedTensorsFollowTheirSource) {
  const auto tensors = initialise(some_specs(), 1);
  EXPECT_TRUE(at::equal(tensors.at("copy"), tensors.at("wide")));
  EXPECT_FALSE(tensors.at("copy").is_alias_of(tensors.at("wide")));
  EXPECT_LE(relative_error(tensors.at("length").flatten(), tensors.at("even").norm(2, 1)), 1e-6);
  EXPECT_FALSE(tensors.contains("window")) << "the network's own code makes it";
}

TEST(Initialise, ATensorsValuesFollowFromSeedAndNameAlone) {
  const auto specs = some_specs();
  const auto all = initialise(specs, 7);
  const auto one = initialise({specs[1]}, 7);
  EXPECT_TRUE(at::equal(one.at("narrow"), all.at("narrow")));
  EXPECT_FALSE(at::equal(initialise({specs[1]}, 8).at("narrow"), all.at("narrow")));
  EXPECT_FALSE(at::equal(all.at("wide") * 0.02, all.at("narrow")));
}

TEST(Initialise, EveryNewNetworkIsKnownAsNewUntilAStepMovesIt) {
  const ModelConfig tiny = model_preset("tiny");
  const std::vector<std::pair<TensorSpecs, std::string>> networks{
      {gpt_specs(tiny.gpt), "final_norm.weight"},
      {dvae_specs(tiny.dvae), "codebook.cluster_size"},
      {decoder_specs(tiny.decoder), "ups.0.parametrizations.weight.original0"}};
  for (const auto& [specs, moved] : networks) {
    NamedTensors tensors = initialise(specs, 7);
    EXPECT_TRUE(is_as_initialised(specs, tensors)) << moved;
    tensors.at(moved).view(-1)[0] += 1e-4;
    EXPECT_FALSE(is_as_initialised(specs, tensors)) << moved;
  }
}

TEST(Initialise, ANewGptHasEveryTensorOfItsSpecs) {
  const auto specs = gpt_specs(model_preset("tiny").gpt);
  const auto tensors = initialise(specs, 1);
  EXPECT_EQ(tensors.size(), specs.size());
  for (const auto& spec : specs) EXPECT_EQ(tensors.at(spec.name).sizes(), spec.shape) << spec.name;
}

TEST(Initialise, AWeightNormedLayerStartsWithItsOwnLengthAsGain) {
  const auto tensors = initialise(decoder_specs(model_preset("tiny").decoder), 1);
  const auto& gain = tensors.at("ups.0.parametrizations.weight.original0");
  const auto& direction = tensors.at("ups.0.parametrizations.weight.original1");
  EXPECT_LE(relative_error(gain.flatten(), direction.flatten(1).norm(2, 1)), 1e-6);
}

}  // namespace
}  // namespace myxtts::test::initialise_test
