// SPDX-License-Identifier: Apache-2.0
#include "pipeline/data_pipeline.h"

#include <gtest/gtest.h>

namespace myxtts::pipeline_settings_test {
namespace {

using std::chrono::milliseconds;

const CpuInfo kSixteenCores{.logical_cores = 16, .physical_cores = 8};
const MemoryInfo kMemory{.total_bytes = 64'000'000'000, .available_bytes = 40'000'000'000};

TEST(PipelineSettings, NumbersThatWereAskedForAreNotTuned) {
  const auto options = pipeline_options({.num_workers = 5, .pipeline_buffer_size = 12}, {},
                                        {.ring_slots = 6}, kSixteenCores, kMemory);
  EXPECT_EQ(options.host.workers, 5U);
  EXPECT_EQ(options.host.most_workers, 5U);
  EXPECT_EQ(options.host.buffer.batches, 12U);
  EXPECT_FALSE(options.host.tune_buffer);
  EXPECT_EQ(options.ring_slots, 6U);
  EXPECT_EQ(options.host.staging_blocks, 8U);
  EXPECT_EQ(options.host.buffer.bytes, 10'000'000'000U);
}

TEST(PipelineSettings, AutoBeginsSmallAndMayGrow) {
  const auto options =
      pipeline_options({.pipeline_buffer_size = std::nullopt}, {}, {}, kSixteenCores, kMemory);
  EXPECT_EQ(options.host.workers, 4U);
  EXPECT_EQ(options.host.most_workers, 16U);
  EXPECT_EQ(options.host.buffer.batches, kFirstBuffer);
  EXPECT_TRUE(options.host.tune_buffer);
}

TEST(PipelineSettings, TheDefaultBufferIsFiftyAndStays) {
  const auto options =
      pipeline_options({}, {}, {}, {.logical_cores = 1, .physical_cores = 1}, kMemory);
  EXPECT_EQ(options.host.buffer.batches, 50U);
  EXPECT_FALSE(options.host.tune_buffer);
  EXPECT_EQ(options.host.workers, 1U);
  EXPECT_EQ(options.host.most_workers, 1U);
}

TEST(PipelineSettings, TheTrainersSettingsReachTheRows) {
  const auto host = [](const TrainConfig& train) {
    return pipeline_options({}, train, {}, kSixteenCores, kMemory).host;
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

TEST(PipelineSettings, TheStartSaysHowLongItWaitedAndForWhat) {
  EXPECT_EQ(describe({.for_data = milliseconds(3100), .for_delay = {}}, 3),
            "The pipeline was ready after 3.1 s: 3.1 s until the ring of 3 was full.");
  EXPECT_EQ(
      describe({.for_data = milliseconds(500), .for_delay = milliseconds(1500)}, 4),
      "The pipeline was ready after 2.0 s: 500 ms until the ring of 4 was full, then 1.5 s of "
      "--model-start-delay.");
}

}  // namespace
}  // namespace myxtts::pipeline_settings_test
