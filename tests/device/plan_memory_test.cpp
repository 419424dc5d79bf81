// SPDX-License-Identifier: Apache-2.0
#include "device/plan_inputs.h"

namespace myxtts::test::plan_memory_test {
namespace {

constexpr std::int64_t kMegabyte = 1 << 20;

const Flags kPair = {{"data.data_gpu", "0"}, {"data.model_gpu", "1"}};

Flags with(Flags flags, const Flags& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

Flags capped(const std::string& data, const std::string& model) {
  return {{"devices.enable_memory_isolation", "true"},
          {"devices.data_gpu_memory", data},
          {"devices.model_gpu_memory", model}};
}

bool says(const std::vector<std::string>& lines, const std::string& words) {
  for (const std::string& line : lines) {
    if (line.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(PlanMemory, WithoutMemoryIsolationThereAreNoCaps) {
  const DevicePlan dual = plan(kPair, FakeGpus{}.l4().l4());
  EXPECT_FALSE(dual.data.memory_cap_bytes || dual.model.memory_cap_bytes);
}

// The rows that users of the original program know: batch, caps and slots by the smaller card.
TEST(PlanMemory, TwoCardsOfAKnownSizeStartWithTheTablesValuesAndSaySo) {
  struct Row {
    std::int64_t card, batch, data_cap, model_cap, slots;
    const char* said;
  };
  for (const Row& row : {Row{12'288, 8, 4096, 8192, 6, "two cards of 12 GB"},
                         Row{15'360, 12, 6144, 10'240, 4, "two cards of 16 GB"},
                         Row{23'034, 24, 8192, 16'384, 3, "two cards of 24 GB"}}) {
    FakeGpus gpus;
    gpus.add("small", row.card, 86).add("large", 80'000, 90);
    const DevicePlan dual = plan(with(kPair, {{"devices.enable_memory_isolation", "true"}}), gpus);
    EXPECT_EQ(dual.batch_size, row.batch);
    EXPECT_EQ(dual.grad_accum, 1);
    EXPECT_EQ(dual.data.memory_cap_bytes, row.data_cap * kMegabyte);
    EXPECT_EQ(dual.model.memory_cap_bytes, row.model_cap * kMegabyte);
    EXPECT_EQ(dual.ring_slots, row.slots);
    EXPECT_TRUE(says(dual.notes, row.said)) << row.said;
  }
}

TEST(PlanMemory, WhatThePersonGivesIsKept) {
  const DevicePlan dual =
      plan(with(with(kPair, capped("3000", "20000")), {{"train.batch_size", "5"},
                                                       {"train.grad_accum", "2"},
                                                       {"data.prefetch_buffer_size", "7"}}),
           FakeGpus{}.l4().l4());
  EXPECT_EQ(dual.batch_size, 5);
  EXPECT_EQ(dual.grad_accum, 2);
  EXPECT_EQ(dual.ring_slots, 7);
  EXPECT_EQ(dual.data.memory_cap_bytes, 3000 * kMegabyte);
  EXPECT_EQ(dual.model.memory_cap_bytes, 20'000 * kMegabyte);
  EXPECT_TRUE(dual.notes.empty()) << dual.notes.front();
}

// 1,000 MB and 1,000 MB a clip in fp32: four clips fit into 5,400 MB with a sixteenth to spare, not
// eight.
TEST(PlanMemory, WhereTheTablesBatchDoesNotFitGradientsOfSeveralAreSummed) {
  const DevicePlan dual = plan(with(kPair, {{"devices.enable_memory_isolation", "true"},
                                            {"devices.model_gpu_memory", "5400"},
                                            {"train.precision", "fp32"}}),
                               FakeGpus{}.rtx_3060().rtx_3060());
  EXPECT_EQ(dual.batch_size, 4);
  EXPECT_EQ(dual.grad_accum, 2);
  EXPECT_TRUE(says(dual.notes, "the gradients of 2 batches are summed (--grad-accum 2)"));
}

TEST(PlanMemory, BetweenAndBeyondTheTablesRowsTheEstimateDecides) {
  const Flags isolated = with(kPair, {{"devices.enable_memory_isolation", "true"}});
  const DevicePlan large = plan(isolated, FakeGpus{}.h200().h200());
  EXPECT_EQ(large.batch_size, 32);
  EXPECT_EQ(large.ring_slots, 3);
  EXPECT_EQ(large.data.memory_cap_bytes, 48'128 * kMegabyte);  // a third, in steps of 256 MB
  const DevicePlan small = plan(isolated, FakeGpus{}.add("a", 8192, 86).add("b", 8192, 86));
  EXPECT_EQ(small.batch_size, 8);  // 5,000 MB and the ring in two thirds of the card; not 12
  EXPECT_EQ(small.grad_accum, 1);
}

TEST(PlanMemory, OnOneCardTheLargestBatchIsTakenThatFitsByEstimate) {
  EXPECT_EQ(plan({}, FakeGpus{}.l4()).batch_size, 32);
  EXPECT_EQ(plan({{"train.precision", "fp32"}}, FakeGpus{}.l4()).batch_size, 16);
  EXPECT_EQ(plan({}, FakeGpus{}.add("small", 4096, 86)).batch_size, 3);
  const DevicePlan on_cpu = plan({{"devices.device", "cpu"}}, {});
  EXPECT_EQ(on_cpu.batch_size, 8);
  EXPECT_TRUE(says(on_cpu.notes, "8 clips in a batch: the largest up to 8"));
}

TEST(PlanMemory, ABudgetOfTokensStandsForTheClipsItUsuallyHolds) {
  const DevicePlan single = plan({{"train.batch_tokens", "4100"}}, FakeGpus{}.l4());
  EXPECT_EQ(single.batch_tokens, 4100);
  EXPECT_EQ(single.batch_size, 10);
  EXPECT_TRUE(single.notes.empty()) << single.notes.front();
}

TEST(PlanMemory, OnOneCardBothCapsTogetherFit) {
  const DevicePlan single = plan({{"devices.enable_memory_isolation", "true"}}, FakeGpus{}.l4());
  EXPECT_GE(*single.data.memory_cap_bytes, single.data.estimated_bytes);
  EXPECT_GE(*single.model.memory_cap_bytes, single.model.estimated_bytes);
  EXPECT_LE(*single.data.memory_cap_bytes + *single.model.memory_cap_bytes,
            single.model.gpu->memory_bytes);
  EXPECT_EQ(refusal<DeviceError>(capped("8000", "16000"), FakeGpus{}.l4()),
            "--data-gpu-memory 8000 and --model-gpu-memory 16000 are together more than GPU 0 "
            "(NVIDIA L4) has, 23,034 MB; give less, as in --data-gpu-memory 5403 "
            "--model-gpu-memory 16210.");
}

TEST(PlanMemory, ACapAboveTheCardsMemoryIsAnError) {
  EXPECT_EQ(refusal<DeviceError>(with(kPair, capped("4096", "30000")), FakeGpus{}.l4().l4()),
            "--model-gpu-memory 30000 is more than GPU 1 (NVIDIA L4) has, 23,034 MB; give at most "
            "--model-gpu-memory 21614.");
  EXPECT_EQ(refusal<DeviceError>(with(kPair, capped("30000", "4096")), FakeGpus{}.l4().l4()),
            "--data-gpu-memory 30000 is more than GPU 0 (NVIDIA L4) has, 23,034 MB; give at most "
            "--data-gpu-memory 21614.");
}

TEST(PlanMemory, ACapBelowTheEstimateIsAnErrorThatSaysWhatWouldFit) {
  EXPECT_EQ(refusal<ConfigError>(with(kPair, capped("4096", "1200")), FakeGpus{}.l4().l4()),
            "--model-gpu-memory 1200 is less than training needs by estimate: 1,501 MB for "
            "--model-size normal and 1 clip in a batch; give --model-gpu-memory 1501 or more, or a "
            "smaller --model-size.");
  EXPECT_EQ(
      refusal<ConfigError>(with(with(kPair, capped("4096", "4100")), {{"train.batch_size", "16"}}),
                           FakeGpus{}.l4().l4()),
      "--model-gpu-memory 4100 is less than training needs by estimate: 9,010 MB for "
      "--model-size normal and 16 clips in a batch; give --model-gpu-memory 9010 or more, or "
      "--batch-size 4.");
  const std::string data =
      refusal<ConfigError>(with(kPair, capped("300", "4096")), FakeGpus{}.l4().l4());
  EXPECT_NE(data.find("--data-gpu-memory 300 is less than data work needs"), std::string::npos)
      << data;
}

TEST(PlanMemory, ARunThatWillHardlyFitIsAWarning) {
  const DevicePlan large =
      plan({{"train.batch_size", "64"}}, FakeGpus{}.l4());  // 33,000 MB on 23,034
  ASSERT_EQ(large.warnings.size(), 1u);
  EXPECT_NE(large.warnings[0].find("GPU 0 (NVIDIA L4) has room for 21,615 MB"), std::string::npos)
      << large.warnings[0];
  FakeGpus busy;
  busy.l4();
  busy.machine.gpus.gpus[0].memory_free_bytes = 5000 * kMegabyte;
  const DevicePlan shared = plan({{"train.batch_size", "16"}}, busy);
  ASSERT_EQ(shared.warnings.size(), 1u);
  EXPECT_NE(shared.warnings[0].find("another program uses the card"), std::string::npos);
}

}  // namespace
}  // namespace myxtts::test::plan_memory_test
