// SPDX-License-Identifier: Apache-2.0
#include "model/memory_estimate.h"

#include <gtest/gtest.h>

namespace myxtts::memory_estimate_test {
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
  EXPECT_EQ(bf16.layers + bf16.conditioning + bf16.heads, 0);
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
  // Less attention's mask, which only half precision keeps.
  EXPECT_NEAR(layers(Precision::Fp32) / layers(Precision::Bf16), 1.96, 0.02);
}

// What the model role took of an H200 (benchmarks/memory_bench.cpp), in GB.
struct Reading {
  const char* size;
  std::int64_t clips;
  double gigabytes;
};
constexpr Reading kReadings[] = {
    {"tiny", 3, 0.275},      {"tiny", 16, 0.537},     {"tiny", 32, 0.858},
    {"tiny", 48, 1.141},     {"tiny", 24, 0.686},     {"tiny", 8, 0.407},
    {"tiny", 64, 1.451},     {"small", 3, 0.772},     {"small", 16, 1.573},
    {"small", 48, 3.615},    {"small", 24, 2.158},    {"small", 8, 1.055},
    {"small", 32, 2.710},    {"small", 64, 4.815},    {"normal", 3, 2.638},
    {"normal", 48, 9.829},   {"normal", 24, 6.088},   {"normal", 8, 3.402},
    {"normal", 16, 4.893},   {"normal", 32, 7.711},   {"normal", 64, 12.111},
    {"big", 3, 6.214},       {"big", 16, 10.691},     {"big", 32, 15.552},
    {"big", 48, 19.929},     {"big", 24, 13.443},     {"big", 8, 7.848},
    {"big", 64, 24.851},     {"xtts-v2", 3, 8.657},   {"xtts-v2", 16, 14.972},
    {"xtts-v2", 48, 27.936}, {"xtts-v2", 24, 18.832}, {"xtts-v2", 8, 10.943},
    {"xtts-v2", 32, 21.794}, {"xtts-v2", 64, 34.886}};

TEST(MemoryEstimate, EverySizeAtSevenBatchesIsWithinATenthOfWhatAnH200Took) {
  for (const Reading& reading : kReadings) {
    const ModelConfig model = model_preset(reading.size);
    const BatchShape batch = usual_batch(model.gpt, reading.clips);
    const double estimate =
        gigabytes(training_memory(model, batch, {.precision = Precision::Bf16}).total() +
                  3 * slot_memory(model, batch));
    EXPECT_NEAR(estimate, reading.gigabytes, 0.1 * reading.gigabytes)
        << reading.size << ", " << reading.clips << " clips";
  }
}

// The same of xtts-v2 with 16 clips.
TEST(MemoryEstimate, PrecisionAndSaversAreWithinATenthOfWhatAnH200Took) {
  const ModelConfig model = model_preset("xtts-v2");
  const BatchShape batch = usual_batch(model.gpt, 16);
  const auto expect = [&](double measured, const StepKind& kind) {
    const double estimate =
        gigabytes(training_memory(model, batch, kind).total() + 3 * slot_memory(model, batch));
    EXPECT_NEAR(estimate, measured, 0.1 * measured);
  };
  constexpr Precision kBf16 = Precision::Bf16;
  expect(21.471, {.precision = Precision::Fp32});
  expect(16.737, {.precision = kBf16, .batches_a_step = 2});
  expect(13.206, {.precision = kBf16, .savers = {.moments = Moments::Bf16}});
  expect(12.325, {.precision = kBf16, .savers = {.moments = Moments::EightBit}});
  expect(9.349, {.precision = kBf16, .savers = {.recompute = true}});
  expect(11.058, {.precision = Precision::Fp32, .savers = {.recompute = true}});
  expect(14.101, {.precision = kBf16, .savers = {.release_gradients = true}});
  expect(5.874,
         {.precision = kBf16,
          .savers = {.recompute = true, .moments = Moments::EightBit, .release_gradients = true}});
}

TEST(MemoryEstimate, AGuideCountsItsLinesAndTheLayersThatItKeepsFromBeingRecomputed) {
  const ModelConfig model = model_preset("xtts-v2");
  BatchShape batch = usual_batch(model.gpt, 16);
  const auto memory = [&](bool guided, bool recompute) {
    return training_memory(
        model, batch,
        {.precision = Precision::Bf16, .savers = {.recompute = recompute}, .guided = guided});
  };
  EXPECT_EQ(memory(false, false).guide, 0);
  EXPECT_EQ(memory(true, false).layers, memory(false, false).layers);
  const std::int64_t layer = memory(false, false).layers / model.gpt.layers;
  EXPECT_EQ(memory(true, true).layers - memory(false, true).layers, 2 * layer);
  EXPECT_GT(memory(true, false).total() - memory(false, false).total(),
            memory(true, false).guide);  // and gaps

  const std::int64_t row = batch.tokens / batch.clips;
  EXPECT_EQ(memory(true, false).guide, 2 * 16 * row * (2 * row * 4 + 2 * 64 * 2));
  batch.segments = 20;  // of which four are padding
  batch.longest = 600;
  EXPECT_EQ(memory(true, false).guide, 2 * 20 * 600 * (2 * 600 * 4 + 2 * 64 * 2));
}

TEST(MemoryEstimate, FeaturesOfABatchTakeLessThanOneGigabyte) {
  const ModelConfig model = model_preset("xtts-v2");
  const std::int64_t nothing = feature_memory(model, {});
  const std::int64_t batch = feature_memory(model, usual_batch(model.gpt, 32));
  EXPECT_GT(nothing, 51'567'184 * 4);
  EXPECT_GT(batch, nothing);
  EXPECT_LT(gigabytes(batch), 1.0);
  // Read on an H200 with 32 clips of 7 s: 0.46 to 0.53 GB.
  const BatchShape seven{.clips = 32, .samples = 32 * 7 * 22'050};
  EXPECT_NEAR(gigabytes(feature_memory(model, seven)), 0.50, 0.05);
}

TEST(MemoryEstimate, ASlotHoldsAPromptSpectrogramAndSomeNumbers) {
  const ModelConfig model = model_preset("xtts-v2");
  const std::int64_t slot = slot_memory(model, usual_batch(model.gpt, 1));
  EXPECT_GT(slot, 80 * 517 * 4);
  EXPECT_LT(slot, 80 * 517 * 4 + 20'000);
}

}  // namespace
}  // namespace myxtts::memory_estimate_test
