// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode/code_sampling.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace myxtts::code_sampling_test {
namespace {

const std::vector<float> kLogits = {1.0F, -2.0F, 3.0F, 0.5F, 3.0F};
const std::vector<std::uint8_t> kNothingSeen(5, 0);
constexpr SamplingRule kPlain{
    .repetition_penalty = 1.0F, .temperature = 1.0F, .top_k = 0, .top_p = 1.0F};

TEST(CodeSampling, GreedyTakesTheFirstOfTheLargestAfterThePenalty) {
  EXPECT_EQ(pick_code(kLogits, kNothingSeen, {.greedy = true}, 0.9), 2);
  EXPECT_EQ(pick_code(kLogits, std::vector<std::uint8_t>{0, 0, 1, 0, 0}, {.greedy = true}, 0.9), 4);
}

TEST(CodeSampling, ThePenaltyDividesPositiveLogitsAndMultipliesNegativeOnes) {
  auto rule = kPlain;
  rule.repetition_penalty = 2.0F;
  const auto found = code_probabilities(kLogits, std::vector<std::uint8_t>{1, 1, 0, 0, 0}, rule);
  const std::vector<double> logits = {0.5, -4.0, 3.0, 0.5, 3.0};
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    EXPECT_NEAR(found[i], std::exp(logits[i]) / sum, 1e-12);
  }
}

TEST(CodeSampling, TopKKeepsEqualsOfTheLastKept) {
  auto rule = kPlain;
  rule.top_k = 1;
  const auto found = code_probabilities(kLogits, kNothingSeen, rule);
  EXPECT_EQ(found, (std::vector<double>{0, 0, 0.5, 0, 0.5}));
}

TEST(CodeSampling, TopPDropsTheLeastWhileTheirSumIsAtMostTheRest) {
  // Probabilities 1/8, 1/8, 1/4, 1/2: 1 - p = 1/4 drops the first two, whose sum just reaches it.
  const std::vector<float> logits = {0.0F, 0.0F, std::log(2.0F), std::log(4.0F)};
  auto rule = kPlain;
  rule.top_p = 0.75F;
  const auto found = code_probabilities(logits, std::vector<std::uint8_t>(4, 0), rule);
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], 0);
  EXPECT_NEAR(found[2], 1.0 / 3, 1e-7);
  rule.top_p = 0.0001F;
  EXPECT_EQ(code_probabilities(logits, std::vector<std::uint8_t>(4, 0), rule)[3], 1.0);
}

TEST(CodeSampling, TheDrawGoesThroughTheCodesByRisingId) {
  const std::vector<float> even(4, 1.0F);
  const std::vector<std::uint8_t> none(4, 0);
  EXPECT_EQ(pick_code(even, none, kPlain, 0.0), 0);
  EXPECT_EQ(pick_code(even, none, kPlain, 0.26), 1);
  EXPECT_EQ(pick_code(even, none, kPlain, 0.74), 2);
  EXPECT_EQ(pick_code(even, none, kPlain, 0.999999), 3);
}

TEST(CodeSampling, TemperatureComesBeforeTopP) {
  auto rule = kPlain;
  rule.top_p = 0.5F;
  // Nearly even then: two of five have less than a half together. Without it three would go.
  rule.temperature = 100.0F;
  const auto found = code_probabilities(kLogits, kNothingSeen, rule);
  EXPECT_EQ(std::count(found.begin(), found.end(), 0.0), 2);
}

}  // namespace
}  // namespace myxtts::code_sampling_test
