// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batcher.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/blocked_thread.h"
#include "support/memory_corpus.h"

namespace myxtts::batcher_test {
namespace {

using test::BlockedThread;
using test::MemoryCorpus;

void put_batch(BatchWindow& window, std::int64_t number, const std::vector<bool>& good) {
  PlannedBatch planned;
  for (std::size_t i = 0; i < good.size(); ++i) planned.clips.push_back(static_cast<ClipNumber>(i));
  ASSERT_TRUE(window.reserve(number, planned, 0));
  for (std::size_t i = 0; i < good.size(); ++i) {
    ClipResult result = Skipped{.file = std::to_string(i)};
    if (good[i]) {
      result = LoadedClip{
          .number = static_cast<ClipNumber>(i), .repeat = 0, .text = {}, .sound = DecodedClip{}};
    }
    ASSERT_TRUE(window.put(number, i, std::move(result)));
  }
}

TEST(Batcher, LeavesBadClipsOutReportsThemInOrderAndKeepsTheOthers) {
  MemoryCorpus corpus;
  BatchWindow window(10);
  BoundedQueue<LoadedBatch> output(10);
  put_batch(window, 0, {true, false, true, false});
  put_batch(window, 1, {false, false});
  put_batch(window, 2, {});
  window.finish();
  int batches = 0;
  Batcher(corpus, window, output, [&] { ++batches; }).run();

  const auto first = output.pop();
  ASSERT_EQ(first->clips.size(), 2U);
  EXPECT_EQ(first->clips[0].number, 0U);
  EXPECT_EQ(first->clips[1].number, 2U);
  EXPECT_EQ(first->planned.clips.size(), 4U);
  EXPECT_TRUE(output.pop()->clips.empty()) << "a batch of bad clips is a batch, not an end";
  EXPECT_EQ(output.pop()->number, 2);
  EXPECT_FALSE(output.pop().has_value());
  EXPECT_EQ(corpus.left_out(), (std::vector<ClipNumber>{1, 3, 0, 1}));
  EXPECT_EQ(batches, 3);
}

TEST(Batcher, TooManyBadClipsAreAnErrorForWhoTakesItsBatches) {
  MemoryCorpus corpus({.most_skipped = 1});
  BatchWindow window(10);
  BoundedQueue<LoadedBatch> output(10);
  put_batch(window, 0, {false});
  put_batch(window, 1, {false});
  Batcher(corpus, window, output, [] {}).run();
  EXPECT_THROW((void)output.pop(), DataError);
  EXPECT_FALSE(window.reserve(2, {}, 0)) << "the reader has to leave";
}

TEST(Batcher, AFailureOfTheDecodersIsPassedOn) {
  MemoryCorpus corpus;
  BatchWindow window(10);
  BoundedQueue<LoadedBatch> output(10);
  window.fail(std::make_exception_ptr(DeviceError("There is no memory left.")));
  Batcher(corpus, window, output, [] {}).run();
  EXPECT_THROW((void)output.pop(), DeviceError);
}

TEST(Batcher, LeavesWhenItWaitsForBatchesAndIsStopped) {
  MemoryCorpus corpus;
  BatchWindow window(10);
  BoundedQueue<LoadedBatch> output(10);
  Batcher batcher(corpus, window, output, [] {});
  BlockedThread thread([&] { batcher.run(); });
  thread.wait_until_asleep();
  EXPECT_GT(batcher.load().waiting_for_input.count(), 0);
  window.stop();
  thread.join();
}

TEST(Batcher, LeavesWhenItWaitsForTheCollatorAndIsStopped) {
  MemoryCorpus corpus;
  BatchWindow window(10);
  BoundedQueue<LoadedBatch> output(1);
  put_batch(window, 0, {true});
  put_batch(window, 1, {true});
  Batcher batcher(corpus, window, output, [] {});
  BlockedThread thread([&] { batcher.run(); });
  thread.wait_until_asleep();
  EXPECT_GT(batcher.load().waiting_for_output.count(), 0);
  output.stop();
  thread.join();
  EXPECT_FALSE(window.reserve(2, {}, 0));
}

}  // namespace
}  // namespace myxtts::batcher_test
