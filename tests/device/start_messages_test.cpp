// SPDX-License-Identifier: Apache-2.0
#include "device/plan/start_messages.h"

#include "device/golden_text.h"
#include "device/plan_inputs.h"

namespace myxtts::test::start_messages_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWorkers = 6;
constexpr std::size_t kBuffer = 50;

void add(std::string& text, const Lines& lines) {
  for (const std::string& line : lines) text += line + "\n";
}

// Everything a start says, in order.
std::string start(const DevicePlan& plan, const std::string& visible, const StartWait& wait) {
  std::string text;
  add(text, configuring(plan));
  add(text, configured(std::span(&plan, 1), visible));
  add(text, pipeline_made(plan, kWorkers, kBuffer));
  add(text, placing_model(plan));
  add(text, waiting(plan, 2s));
  add(text, training_starts(plan, wait));
  return text;
}

TEST(StartMessages, TwoGpus) {
  const DevicePlan dual = plan({{"data.data_gpu", "3"},
                                {"data.model_gpu", "2"},
                                {"devices.enable_memory_isolation", "true"}},
                               FakeGpus{}.l4().l4().l4().l4());
  expect_golden("start_dual.txt",
                start(dual, "GPU-3000-fake,GPU-2000-fake",
                      {.for_data = 740ms, .for_delay = 1260ms, .ready_batches = 3}));
}

TEST(StartMessages, OneGpu) {
  const DevicePlan single = plan({}, FakeGpus{}.l4());
  expect_golden("start_single.txt",
                start(single, "GPU-0000-fake", {.for_data = 740ms, .ready_batches = 3}));
}

TEST(StartMessages, OneGpuAsTwo) {
  const DevicePlan split = plan({{"devices.split_gpu", "0:16"}}, FakeGpus{}.h200());
  expect_golden("start_split.txt", start(split, "GPU-0000-fake",
                                         {.for_data = 3s, .for_delay = 0s, .ready_batches = 3}));
}

TEST(StartMessages, Cpu) {
  expect_golden("start_cpu.txt", start(plan({}, {}), "", {.for_data = 740ms, .ready_batches = 3}));
}

TEST(StartMessages, TheLinesFollowWhatReallyHappened) {
  const DevicePlan dual =
      plan({{"data.data_gpu", "0"}, {"data.model_gpu", "1"}}, FakeGpus{}.l4().l4());
  const auto waited = [&](const StartWait& wait) { return training_starts(dual, wait).front(); };
  EXPECT_EQ(waited({.for_data = 5s, .for_delay = 0s, .ready_batches = 2}),
            "  Waited 5.0 s for data (2 batches ready on cuda:1), which took longer than "
            "--model-start-delay");
  EXPECT_NE(waiting(dual, 2s), waiting(dual, 0s));
  DevicePlan longer_ring = dual;
  longer_ring.ring_slots = 8;
  EXPECT_NE(pipeline_made(dual, kWorkers, kBuffer), pipeline_made(longer_ring, kWorkers, kBuffer));
}

// The number of a GPU that a list hides is not that of the machine.
TEST(StartMessages, AGpuHasTheNumberThatIsTypedAndNvidiaSmisBesideIt) {
  FakeGpus gpus;
  gpus.l4().l4().l4().l4();
  gpus.machine.gpus.visible_devices = "3,2";
  const DevicePlan dual = plan({{"data.data_gpu", "0"}, {"data.model_gpu", "1"}}, gpus);
  EXPECT_EQ(placing_model(dual),
            (Lines{"Model will be placed on cuda:1 (original GPU 1, nvidia-smi's 2)",
                   "Creating model on device: cuda:1"}));
  EXPECT_EQ(configuring(dual)[1], "  Data Processing GPU: 0 (nvidia-smi's 3, NVIDIA L4)");
}

// What the guides of the original program tell people to grep for, to the letter.
TEST(StartMessages, TwoGpusAreSaidInTheWordsThatPeopleLookFor) {
  const DevicePlan dual =
      plan({{"data.data_gpu", "0"}, {"data.model_gpu", "1"}}, FakeGpus{}.l4().l4());
  const std::string text = start(dual, "GPU-0000-fake,GPU-1000-fake", {.ready_batches = 3});
  for (const char* words :
       {"Configuring Multi-GPU Mode", "Data Processing GPU: 0", "Model Training GPU: 1",
        "Set visible devices: GPU 0 and GPU 1", "Intelligent GPU Pipeline: Multi-GPU Mode",
        "Smart Prefetching: Enabled", "buffer_size=50", "Creating model on device",
        "Model training starting now", "Starting training"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
}

}  // namespace
}  // namespace myxtts::test::start_messages_test
