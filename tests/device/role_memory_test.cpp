// SPDX-License-Identifier: Apache-2.0
#include "device/role_device.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace myxtts::role_memory_test {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

TEST(RoleMemory, CountsWhatIsHeldAndThePeak) {
  RoleMemory memory(Role::Data, "GPU 0");
  EXPECT_TRUE(memory.try_take(30));
  EXPECT_TRUE(memory.try_take(50));
  memory.give_back(70);
  EXPECT_EQ(memory.read().reserved, 10);
  EXPECT_EQ(memory.read().peak, 80);
  EXPECT_EQ(memory.read().refused, 0);
}

TEST(RoleMemory, TakesUpToTheCapAndNotAByteMore) {
  RoleMemory memory(Role::Model, "GPU 1", 100);
  EXPECT_TRUE(memory.try_take(60));
  EXPECT_FALSE(memory.try_take(41));
  EXPECT_EQ(memory.read().reserved, 60);
  EXPECT_EQ(memory.read().refused, 41);
  EXPECT_TRUE(memory.try_take(40));
}

TEST(RoleMemory, ARefusalThatWasSurvivedIsForgotten) {
  RoleMemory memory(Role::Model, "GPU 1", 100);
  EXPECT_TRUE(memory.try_take(60));
  EXPECT_FALSE(memory.try_take(41));
  memory.give_back(60);
  EXPECT_EQ(memory.read().refused, 41);
  EXPECT_TRUE(memory.try_take(41));
  EXPECT_EQ(memory.read().refused, 0);
}

TEST(RoleMemory, TheErrorNamesRoleCapWishAndSettings) {
  RoleMemory data(Role::Data, "GPU 2", 4096 * kMegabyte);
  EXPECT_TRUE(data.try_take(4000 * kMegabyte));
  EXPECT_FALSE(data.try_take(500 * kMegabyte));
  EXPECT_STREQ(
      data.over_cap().what(),
      "The data role wants 500 MB more on GPU 2, where it holds 4.0 GB and may have 4.1 GB "
      "(--data-gpu-memory). Give it --data-gpu-memory 4608, or lower --batch-size.");

  RoleMemory model(Role::Model, "the CPU", 10 * kMegabyte);
  EXPECT_FALSE(model.try_take(12 * kMegabyte));
  EXPECT_STREQ(model.over_cap().what(),
               "The model role wants 12.0 MB more on the CPU, where it holds 0 B and may have 10.0 "
               "MB (--model-gpu-memory). Give it --model-gpu-memory 256, or lower --batch-size or "
               "--prefetch-buffer-size.");
}

TEST(RoleMemory, ThreadsNeverGoOverTheCapTogether) {
  RoleMemory memory(Role::Data, "GPU 0", 10);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&memory] {
      for (int round = 0; round < 1000; ++round) {
        if (memory.try_take(3)) memory.give_back(3);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(memory.read().reserved, 0);
  EXPECT_LE(memory.read().peak, 9);
}

TEST(GrowthWatch, IsSilentDuringTheWarmUpAndWhileMemoryIsSteady) {
  GrowthWatch watch("the feature stage");
  for (std::int64_t step = 0; step < 5000; ++step) {
    const std::int64_t bytes = step < GrowthWatch::kWarmUp ? step * kMegabyte : 100 * kMegabyte;
    EXPECT_FALSE(watch.observe(step, bytes).has_value()) << "step " << step;
  }
}

// The steps at which a run whose memory is `bytes(step)` is warned of.
template <typename Bytes>
std::vector<std::int64_t> warned(const Bytes& bytes, std::string* sentence = nullptr) {
  GrowthWatch watch("the feature stage");
  std::vector<std::int64_t> said;
  for (std::int64_t step = 0; step <= 9100; ++step) {
    const auto warning = watch.observe(step, bytes(step));
    if (!warning) continue;
    said.push_back(step);
    if (sentence != nullptr && said.size() == 1) *sentence = *warning;
  }
  return said;
}

TEST(GrowthWatch, ASoundRunMayTakeMoreForLongerBatchesAndGiveItBack) {
  const auto once = [](std::int64_t step) {
    return (step < 1500 ? 100 : 102) * kMegabyte;  // a batch longer than all before it
  };
  EXPECT_TRUE(warned(once).empty());
  const auto less_and_less = [](std::int64_t step) {  // by 40, 20, 10, 5 MB each thousand steps
    std::int64_t megabytes = 300;
    for (std::int64_t more = 40, at = 1000; at <= step && more > 0; at += 1000, more /= 2) {
      megabytes += more;
    }
    return megabytes * kMegabyte;
  };
  EXPECT_TRUE(warned(less_and_less).empty());
  const auto to_and_fro = [](std::int64_t step) {  // every window begins and ends differently
    return (417 + step * 7919 % 200) * kMegabyte;
  };
  EXPECT_TRUE(warned(to_and_fro).empty());
}

TEST(GrowthWatch, ALeakIsSaidWithItsStageAndWhatToDo) {
  std::string sentence;
  const auto leak = [](std::int64_t step) { return 400 * kMegabyte + step * 10'000; };
  const auto said = warned(leak, &sentence);
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.front(), 4100);
  EXPECT_EQ(sentence,
            "The memory of the feature stage grew from 401 MB to 431 MB over 3,000 steps, in every "
            "1,000 of them; it should be steady. Before it is used up, end the run and continue it "
            "with --resume, and report this.");
}

}  // namespace
}  // namespace myxtts::role_memory_test
