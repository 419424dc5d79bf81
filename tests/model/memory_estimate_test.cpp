// SPDX-License-Identifier: Apache-2.0
#include "model/memory_estimate.h"

#include <gtest/gtest.h>

namespace myxtts {
namespace {

constexpr double kGigabyte = 1e9;
constexpr std::int64_t kParameters = 441'018'563;  // of the public GPT

double gigabytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / kGigabyte;
}

TEST(MemoryEstimate, WhatDoesNotDependOnTheBatchFollowsFromTheParameters) {
  const TrainingMemory bf16 =
      training_memory(model_preset("xtts-v2"), {}, {.precision = Precision::Bf16});
  EXPECT_EQ(bf16.weights, kParameters * 6);  // fp32 and a copy in bf16
  EXPECT_EQ(bf16.gradients, kParameters * 2);
  EXPECT_EQ(bf16.moments, kParameters * 8);
  EXPECT_EQ(bf16.layers + bf16.conditioning + bf16.logits, 0);
  const TrainingMemory fp32 =
      training_memory(model_preset("xtts-v2"), {}, {.precision = Precision::Tf32});
  EXPECT_EQ(fp32.weights, kParameters * 4);
}

TEST(MemoryEstimate, EachSaverTakesAwayWhatItSays) {
  const ModelConfig model = model_preset("xtts-v2");
  const BatchShape batch = usual_batch(model.gpt, 16);
  const auto memory = [&](const MemorySavers& savers, std::int64_t batches_a_step = 1) {
    return training_memory(
        model, batch,
        {.precision = Precision::Bf16, .savers = savers, .batches_a_step = batches_a_step});
  };
  const TrainingMemory plain = memory({});
  EXPECT_EQ(memory({.moments = Moments::Bf16}).moments, kParameters * 4);
  EXPECT_NEAR(gigabytes(memory({.moments = Moments::EightBit}).moments), 0.882 + 0.014, 0.001);
  EXPECT_LT(memory({.recompute = true}).layers, plain.layers / 5);
  EXPECT_LT(memory({.release_gradients = true}).gradients, plain.gradients / 10);
  EXPECT_EQ(memory({}, 2).gradients, kParameters * 6);  // sums in fp32 too
}

TEST(MemoryEstimate, ABatchTakesAsMuchForEachClipAsForTheFirst) {
  const ModelConfig model = model_preset("normal");
  const auto total = [&model](std::int64_t clips) {
    return training_memory(model, usual_batch(model.gpt, clips), {.precision = Precision::Bf16})
        .total();
  };
  const std::int64_t clip = total(1) - total(0);
  EXPECT_GT(clip, 0);
  EXPECT_NEAR(static_cast<double>(total(32) - total(0)), 32.0 * static_cast<double>(clip), 64.0);
}

TEST(MemoryEstimate, FullPrecisionKeepsNearlyTwiceAsMuchOfALayer) {
  const ModelConfig model = model_preset("xtts-v2");
  const BatchShape batch = usual_batch(model.gpt, 16);
  const auto layers = [&](Precision precision) {
    return static_cast<double>(training_memory(model, batch, {.precision = precision}).layers);
  };
  EXPECT_NEAR(layers(Precision::Fp32) / layers(Precision::Bf16), 66.0 / 34.0, 0.02);
}

// Read on an H200: forward and backward with 32 clips of 7 s, bf16, packed rows and flash
// attention.
TEST(MemoryEstimate, ActivationsOfThePublicModelAreWhatAnH200Reserved) {
  const BatchShape batch{.clips = 32,
                         .tokens = 32 * (32 + 78 + 155),
                         .text_targets = 32 * 78,
                         .audio_targets = 32 * 155,
                         .samples = 32 * 7 * 22'050};
  const ModelConfig model = model_preset("xtts-v2");
  const auto memory = training_memory(model, batch, {.precision = Precision::Bf16});
  const double activations =
      gigabytes(memory.total() - memory.weights - memory.gradients - memory.moments);
  EXPECT_NEAR(activations, 12.45, 0.6);
  EXPECT_NEAR(gigabytes(feature_memory(model, batch)), 0.50, 0.05);
}

TEST(MemoryEstimate, FeaturesOfABatchTakeLessThanOneGigabyte) {
  const ModelConfig model = model_preset("xtts-v2");
  const std::int64_t nothing = feature_memory(model, {});
  const std::int64_t batch = feature_memory(model, usual_batch(model.gpt, 32));
  EXPECT_GT(nothing, 51'567'184 * 4);
  EXPECT_GT(batch, nothing);
  EXPECT_LT(gigabytes(batch), 1.0);
}

TEST(MemoryEstimate, ASlotHoldsAPromptSpectrogramAndSomeNumbers) {
  const ModelConfig model = model_preset("xtts-v2");
  const std::int64_t slot = slot_memory(model, usual_batch(model.gpt, 1));
  EXPECT_GT(slot, 80 * 517 * 4);
  EXPECT_LT(slot, 80 * 517 * 4 + 20'000);
}

}  // namespace
}  // namespace myxtts
