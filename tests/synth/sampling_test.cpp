// SPDX-License-Identifier: Apache-2.0
#include "synth/sampling.h"

#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/golden.h"

namespace myxtts::sampling_test {
namespace {

constexpr std::int64_t kIds = 130;

GptConfig config_of_golden() {
  GptConfig config;
  config.audio_ids = kIds;
  config.start_audio = 128;
  config.stop_audio = 129;
  return config;
}

SamplingSettings nothing() {
  return {.temperature = 1.0, .top_k = 0, .top_p = 1.0, .repetition_penalty = 1.0};
}

// Every row of the golden logits after `settings`, compared with what the peer made of it.
void expect_as_peer(const std::string& name, const SamplingSettings& settings) {
  const auto golden = test::read_golden("synth/processors.safetensors");
  auto logits = golden.at("logits").clone();
  const auto& codes = golden.at("codes");
  for (std::int64_t row = 0; row < logits.size(0); ++row) {
    CodeHistory history(config_of_golden());
    for (std::int64_t i = 0; i < codes.size(1); ++i)
      history.add(codes[row][i].item<std::int64_t>());
    process_logits({logits[row].mutable_data_ptr<float>(), kIds}, history, settings);
  }
  const auto& expected = golden.at(name);
  const auto sorted = [](const at::Tensor& rows) { return std::get<0>(rows.sort(1)); };
  EXPECT_TRUE(at::allclose(sorted(logits), sorted(expected), 1e-5, 1e-5)) << name;
  // Which of equals stays is left open by the peer's sort; rows 3 and 4 have equals.
  const auto without_ties = at::tensor({0, 1, 2, 5, 6, 7, 8, 9, 10, 11}, at::kLong);
  EXPECT_TRUE(at::allclose(logits.index_select(0, without_ties),
                           expected.index_select(0, without_ties), 1e-5, 1e-5))
      << name;
}

TEST(Sampling, EachStepIsThePeers) {
  auto settings = nothing();
  settings.repetition_penalty = 5.0;
  expect_as_peer("penalty", settings);
  settings.repetition_penalty = 0.5;
  expect_as_peer("small_penalty", settings);
  settings = nothing();
  settings.temperature = 0.7;
  expect_as_peer("temperature", settings);
  settings = nothing();
  settings.top_k = 5;
  expect_as_peer("top_k", settings);
  settings.top_k = 1;
  expect_as_peer("top_k_1", settings);
  settings = nothing();
  settings.top_p = 0.85;
  expect_as_peer("top_p", settings);
  settings.top_p = 0.01;
  expect_as_peer("top_p_tiny", settings);
}

TEST(Sampling, AllStepsTogetherAreThePeers) {
  SamplingSettings settings;
  expect_as_peer("all", settings);
  settings.beams = 3;
  expect_as_peer("all.beams", settings);
  expect_as_peer("hot", {.temperature = 1.5, .top_k = 20, .top_p = 0.5, .repetition_penalty = 2.0});
  settings = nothing();
  settings.top_p = 0.01;
  settings.beams = 2;
  expect_as_peer("top_p_tiny.beams", settings);
}

TEST(Sampling, GreedyListensToThePenaltyAlone) {
  std::vector<float> logits(kIds, 0.0F);
  logits[7] = 10.0F;
  logits[8] = 6.0F;
  CodeHistory history(config_of_golden());
  auto copy = logits;
  EXPECT_EQ(choose_code(copy, history, {.greedy = true, .temperature = 0.01}, 0.999), 7);
  history.add(7);
  EXPECT_EQ(choose_code(logits, history, {.greedy = true}, 0.0), 8);
}

TEST(Sampling, TheFillerAndTheStartCodeAreInTheHistoryAndTheStopCodeIsNot) {
  std::vector<float> logits(kIds, 10.0F);
  CodeHistory history(config_of_golden());
  penalise_repetition(logits, history.seen(), 5.0);
  for (std::size_t id = 0; id < logits.size(); ++id) {
    EXPECT_EQ(logits[id], id == 1 || id == 128 ? 2.0F : 10.0F) << id;
  }
}

// 10^5 draws against the distribution that the peer samples from: softmax of its processed logits.
TEST(Sampling, DrawsAreAsFrequentAsThePeersProbabilities) {
  const auto golden = test::read_golden("synth/processors.safetensors");
  constexpr int kDraws = 100'000;
  for (const std::int64_t row : {0, 3, 7}) {
    const auto processed = golden.at("hot")[row].contiguous();
    const auto probabilities = processed.to(at::kDouble).softmax(0);
    std::vector<int> counts(kIds, 0);
    for (int i = 0; i < kDraws; ++i) {
      const double draw =
          sampling_draw(11, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(i));
      ++counts[static_cast<std::size_t>(
          draw_from({processed.const_data_ptr<float>(), kIds}, draw))];
    }
    double chi_square = 0.0;
    int bins = 0;
    for (std::size_t id = 0; id < counts.size(); ++id) {
      const double expected = probabilities[static_cast<std::int64_t>(id)].item<double>() * kDraws;
      if (expected == 0.0) {
        EXPECT_EQ(counts[id], 0) << "a dropped id was drawn";
        continue;
      }
      chi_square += (counts[id] - expected) * (counts[id] - expected) / expected;
      ++bins;
    }
    ASSERT_GE(bins, 2) << row;
    // Wilson and Hilferty: the cube root is nearly normal. p > 0.001 is below 3.09 deviations.
    const double freedom = bins - 1;
    const double spread = 2.0 / (9.0 * freedom);
    const double z = (std::cbrt(chi_square / freedom) - (1.0 - spread)) / std::sqrt(spread);
    EXPECT_LT(z, 3.09) << "row " << row << ", chi-square " << chi_square << " of " << freedom;
  }
}

TEST(Sampling, RoundingLeavesNoDrawWithoutACode) {
  const std::vector<float> logits = {-INFINITY, 0.0F, 0.0F, -INFINITY};
  EXPECT_EQ(draw_from(logits, 0.0), 1);
  EXPECT_EQ(draw_from(logits, 0.5), 2);
  EXPECT_EQ(draw_from(logits, 0x1.fffffffffffffp-1), 2);
}

TEST(Sampling, WhatCannotBeIsRefusedByTheNameOfItsFlag) {
  const auto message = [](const SamplingSettings& settings) -> std::string {
    try {
      validate(settings);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({}), "");
  EXPECT_NE(message({.temperature = 0.0}).find("--temperature is 0"), std::string::npos);
  EXPECT_NE(message({.top_k = -1}).find("--top-k is -1"), std::string::npos);
  EXPECT_NE(message({.top_p = 1.5}).find("--top-p is 1.5"), std::string::npos);
  EXPECT_NE(message({.repetition_penalty = -2.0}).find("--repetition-penalty"), std::string::npos);
  EXPECT_NE(message({.beams = 0}).find("--beams is 0"), std::string::npos);
  try {
    sampling_of({.temperature = 0.0}, {}, SamplingNames::Fields);
    ADD_FAILURE() << "a temperature of 0 was taken";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(), std::string("temperature is 0; it must be above 0."));
  }
}

TEST(Sampling, TheModelsConfigDecidesAndThePeersDefaultsFillIn) {
  const auto settings = parse_sampling_settings(
      R"({"temperature": 0.6, "top_k": 30, "max_audio_len": Infinity})", "config.json");
  EXPECT_EQ(settings.temperature, 0.6);
  EXPECT_EQ(settings.top_k, 30);
  EXPECT_EQ(settings.repetition_penalty, 2.0);
  EXPECT_EQ(settings.top_p, 0.85);
  EXPECT_THROW(parse_sampling_settings(R"({"top_p": 7})", "config.json"), DataError);
  EXPECT_THROW(parse_sampling_settings(R"({"top_p": "much"})", "config.json"), DataError);
}

TEST(Sampling, WhatAUserChoseStandsOverTheModelsAndTheRestIsTheModels) {
  const SamplingSettings of_model{.temperature = 0.6, .top_k = 30, .top_p = 0.7, .seed = 9};
  EXPECT_EQ(sampling_of({}, of_model), of_model);
  const auto chosen = sampling_of(
      {.temperature = 0.9, .length_penalty = 2.0, .seed = 4, .beams = 3, .greedy = true}, of_model);
  EXPECT_EQ(chosen, (SamplingSettings{.greedy = true,
                                      .temperature = 0.9,
                                      .top_k = 30,
                                      .top_p = 0.7,
                                      .length_penalty = 2.0,
                                      .beams = 3,
                                      .seed = 4}));
  EXPECT_EQ(sampling_of({.top_k = 0, .top_p = 1.0, .repetition_penalty = 1.0}, of_model).top_k, 0);
  EXPECT_THROW(sampling_of({.top_p = 1.5}, of_model), ConfigError);
}

}  // namespace
}  // namespace myxtts::sampling_test
