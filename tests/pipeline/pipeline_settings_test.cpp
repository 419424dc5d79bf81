// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pipeline_options.h"

#include <gtest/gtest.h>

namespace myxtts::pipeline_settings_test {
namespace {

using std::chrono::milliseconds;

const CpuInfo kSixteenCores{.logical_cores = 16, .physical_cores = 8};
const MemoryInfo kMemory{.total_bytes = 64'000'000'000, .available_bytes = 40'000'000'000};

TEST(PipelineSettings, NumbersThatWereAskedForAreNotTuned) {
  const auto options = pipeline_options({.num_workers = 5, .pipeline_buffer_size = 12}, {},
                                        {.ring_slots = 6}, kSixteenCores, kMemory);
  EXPECT_EQ(options.workers, 5U);
  EXPECT_EQ(options.most_workers, 5U);
  EXPECT_EQ(options.buffer_batches, 12U);
  EXPECT_FALSE(options.tune_buffer);
  EXPECT_EQ(options.ring_slots, 6U);
  EXPECT_EQ(options.buffer_bytes, 10'000'000'000U);
}

TEST(PipelineSettings, WhatNobodyAskedForIsTuned) {
  const auto options = pipeline_options({}, {}, {}, kSixteenCores, kMemory);
  EXPECT_EQ(options.workers, 4U);
  EXPECT_EQ(options.most_workers, 16U);
  EXPECT_TRUE(options.tune_buffer);
  const auto small =
      pipeline_options({}, {}, {}, {.logical_cores = 1, .physical_cores = 1}, kMemory);
  EXPECT_EQ(small.workers, 1U);
  EXPECT_EQ(small.most_workers, 1U);
}

TEST(PipelineSettings, AutoBuffersWhatFreeMemoryAndTheCorpusGive) {
  const std::int64_t megabyte = 1'000'000;
  EXPECT_EQ(first_buffer(40'000 * megabyte, 10 * megabyte, 1000), 50U) << "fifty are enough";
  EXPECT_EQ(first_buffer(1'200 * megabyte, 10 * megabyte, 1000), 30U) << "a quarter of the memory";
  EXPECT_EQ(first_buffer(40'000 * megabyte, 10 * megabyte, 12), 12U) << "an epoch";
  EXPECT_EQ(first_buffer(40 * megabyte, 10 * megabyte, 12), 4U) << "the least";
}

TEST(PipelineSettings, TheTrainersSettingsReachTheRows) {
  const auto host = [](const TrainConfig& train) {
    return pipeline_options({}, train, {}, kSixteenCores, kMemory);
  };
  EXPECT_EQ(host({}).mask, PromptMask::Clip);
  EXPECT_EQ(host({.prompt_mask = PromptMask::Clip}).mask, PromptMask::Clip);
  EXPECT_EQ(host({.prompt_mask = PromptMask::None}).mask, PromptMask::None);
  EXPECT_EQ(host({.prompt_mask = PromptMask::Peer}).mask, PromptMask::Peer);
  EXPECT_EQ(host({.prompt_from = PromptFrom::Speaker}).mask, PromptMask::None);
  EXPECT_EQ(host({}).batches_a_step, 1);
  EXPECT_EQ(host({.grad_accum = 6}).batches_a_step, 6);
}

TEST(PipelineSettings, OnlyTwoDevicesAndASplitOneWaitForTheDelay) {
  const auto delay = [](Mode mode) {
    return pipeline_options({.model_start_delay = 1.5}, {}, {.mode = mode}, kSixteenCores, kMemory)
        .start_delay;
  };
  EXPECT_EQ(delay(Mode::Dual), milliseconds(1500));
  EXPECT_EQ(delay(Mode::Split), milliseconds(1500));
  EXPECT_EQ(delay(Mode::Single).count(), 0);
  EXPECT_EQ(delay(Mode::Cpu).count(), 0);
}

}  // namespace
}  // namespace myxtts::pipeline_settings_test
