// SPDX-License-Identifier: Apache-2.0
#include "pipeline/reader.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/blocked_thread.h"
#include "support/memory_corpus.h"

namespace myxtts::reader_test {
namespace {

using test::BlockedThread;
using test::MemoryCorpus;

TEST(Reader, HandsOutEveryClipOfThePlanInOrder) {
  MemoryCorpus corpus({.clips = 10, .batch_size = 4});
  BatchWindow window(100);
  BoundedQueue<LoadJob> jobs(100);
  std::vector<ClipNumber> asked_early;
  corpus.on_read_ahead = [&](ClipNumber number) { asked_early.push_back(number); };

  Reader(corpus, window, jobs).run({0, 1}, DataPosition{1, 1});

  std::vector<ClipNumber> expected;
  std::int64_t number = 0;
  for (DataPosition at{0, 1}; at != DataPosition{1, 1}; at = corpus.next(at), ++number) {
    const PlannedBatch planned = corpus.batch(at);
    for (std::size_t index = 0; index < planned.clips.size(); ++index) {
      const auto job = jobs.pop();
      ASSERT_TRUE(job.has_value());
      EXPECT_EQ(job->batch, number);
      EXPECT_EQ(job->index, index);
      EXPECT_EQ(job->clip, planned.clips[index]);
      expected.push_back(job->clip);
    }
  }
  EXPECT_EQ(number, 3);
  EXPECT_TRUE(jobs.ended());
  EXPECT_EQ(asked_early, expected);
}

TEST(Reader, TellsTheSourceWhenItComesToAnEpoch) {
  MemoryCorpus corpus({.clips = 10, .batch_size = 4});
  BatchWindow window(100);
  BoundedQueue<LoadJob> jobs(100);
  std::vector<std::int64_t> epochs;
  corpus.on_epoch = [&](std::int64_t epoch) { epochs.push_back(epoch); };
  Reader(corpus, window, jobs).run({4, 1}, DataPosition{6, 2});
  EXPECT_EQ(epochs, (std::vector<std::int64_t>{4, 5, 6}));
}

TEST(Reader, BehindItsEndThereIsNothingToRead) {
  MemoryCorpus corpus({.clips = 10, .batch_size = 4});
  corpus.on_batch = [](DataPosition) { throw DataError("A batch was asked for."); };
  for (const DataPosition from : {DataPosition{3, 1}, DataPosition{4, 0}, DataPosition{2, 2}}) {
    BatchWindow window(100);
    BoundedQueue<LoadJob> jobs(100);
    Reader(corpus, window, jobs).run(from, DataPosition{2, 2});
    EXPECT_FALSE(window.take().has_value());
    EXPECT_TRUE(jobs.ended());
  }
}

TEST(Reader, GivesABatchItsPlaceBeforeItHandsOutItsClips) {
  MemoryCorpus corpus({.clips = 8, .batch_size = 4});
  BatchWindow window(1);
  BoundedQueue<LoadJob> jobs(100);
  Reader reader(corpus, window, jobs);
  BlockedThread thread([&] { reader.run({0, 0}, std::nullopt); });
  thread.wait_until_asleep();
  EXPECT_EQ(jobs.depth().current, 4U) << "the second batch has no place yet";
  EXPECT_GT(reader.load().waiting_for_output.count(), 0);
  window.stop();
  thread.join();
}

TEST(Reader, CountsTheBytesOfDecodedClips) {
  MemoryCorpus corpus({.clips = 4, .batch_size = 4});
  BatchWindow window(9);
  BoundedQueue<LoadJob> jobs(100);
  Reader(corpus, window, jobs).run({0, 0}, DataPosition{1, 0});
  std::size_t bytes = 0;
  for (ClipNumber number = 0; number < 4; ++number) bytes += 2 * corpus.samples(number).size();
  EXPECT_EQ(window.bytes(), bytes);
}

TEST(Reader, AFailureReachesTheBatcherAndEndsTheDecoders) {
  MemoryCorpus corpus;
  corpus.on_batch = [](DataPosition position) {
    if (position.step == 2) throw DataError("The index was cut short.");
  };
  BatchWindow window(100);
  BoundedQueue<LoadJob> jobs(100);
  Reader(corpus, window, jobs).run({0, 0}, std::nullopt);
  EXPECT_THROW((void)window.take(), DataError);
  EXPECT_FALSE(jobs.pop().has_value());
}

TEST(Reader, LeavesWhenItWaitsForTheDecodersAndIsStopped) {
  MemoryCorpus corpus;
  BatchWindow window(100);
  BoundedQueue<LoadJob> jobs(3);
  Reader reader(corpus, window, jobs);
  BlockedThread thread([&] { reader.run({0, 0}, std::nullopt); });
  thread.wait_until_asleep();
  jobs.stop();
  thread.join();
}

}  // namespace
}  // namespace myxtts::reader_test
