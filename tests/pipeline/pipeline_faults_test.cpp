// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "pipeline/pipeline_bench.h"
#include "support/blocked_thread.h"
#include "support/effort.h"

// Nothing here may hang: the pipeline always ends, soon, and with the cause.

namespace myxtts::pipeline_faults_test {
namespace {

using std::chrono::seconds;
using test::BenchOptions;
using test::BlockedThread;
using test::FakeFeatures;
using test::FakePipeline;
using test::MemoryCorpus;
using test::pipeline_options;
using test::run_pipeline;
using test::tiny_gpt;

// The pipeline waits for no clock but the start's delay: what does not end soon never ends. So this
// is what a machine with ten times its work may take.
constexpr auto kSoon = seconds(20);

// Takes batches until the end; gives the sentence of what was thrown, or "".
std::string failure_of(MemoryCorpus& corpus, FakeFeatures& features, const BenchOptions& options,
                       std::chrono::nanoseconds* ended_after = nullptr) {
  FakePipeline pipeline(corpus, features, pipeline_options(options));
  pipeline.start({});
  std::string failure;
  auto last = system_clock().now();
  try {
    while (pipeline.next()) last = system_clock().now();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  pipeline.stop();
  if (ended_after != nullptr) *ended_after = system_clock().now() - last;
  return failure;
}

TEST(PipelineFaults, AnExceptionInAnyStageReachesTheTrainerWithItsCause) {
  for (const std::size_t workers : {1U, 7U}) {
    for (const std::string stage : {"batch", "read_ahead", "decode", "leave_out", "features"}) {
      MemoryCorpus corpus({.clips = 400, .most_skipped = 0});
      FakeFeatures features(tiny_gpt().text_ids);
      std::atomic<int> calls = 0;
      const auto fail_at_fifty = [&] {
        if (++calls == 50) throw DataError("Injected into " + stage + ".");
      };
      if (stage == "batch") corpus.on_batch = [&](DataPosition) { fail_at_fifty(); };
      if (stage == "read_ahead") corpus.on_read_ahead = [&](ClipNumber) { fail_at_fifty(); };
      if (stage == "decode") {
        corpus.on_decode = [&](ClipNumber) -> std::optional<Skipped> {
          fail_at_fifty();
          return std::nullopt;
        };
      }
      if (stage == "leave_out") {
        corpus.on_decode = [&](ClipNumber number) -> std::optional<Skipped> {
          if (++calls != 50) return std::nullopt;
          return Skipped{.file = "Injected into leave_out " + std::to_string(number)};
        };
      }
      if (stage == "features") features.on_fill = [&](const HostBatch&) { fail_at_fifty(); };
      std::chrono::nanoseconds ended_after{};
      const std::string failure = failure_of(corpus, features, {.workers = workers}, &ended_after);
      EXPECT_NE(failure.find("Injected into " + stage), std::string::npos) << failure;
      EXPECT_LT(ended_after, kSoon) << stage;
    }
  }
}

TEST(PipelineFaults, ADiskThatFailsInMidEpochIsAnErrorAndNotAShorterEpoch) {
  MemoryCorpus corpus({.clips = 400, .most_skipped = 20});
  std::atomic<int> decoded = 0;
  corpus.on_decode = [&](ClipNumber number) -> std::optional<Skipped> {
    if (++decoded < 200) return std::nullopt;
    return Skipped{.file = std::to_string(number), .reason = SkipReason::Unreadable};
  };
  FakeFeatures features(tiny_gpt().text_ids);
  const std::string failure = failure_of(corpus, features, {.workers = 7});
  EXPECT_NE(failure.find("21 of 400 clips cannot be used"), std::string::npos) << failure;
}

TEST(PipelineFaults, NoMemoryForStagingIsAnErrorWithItsCause) {
  MemoryCorpus corpus;
  FakeFeatures features(tiny_gpt().text_ids);
  PipelineOptions options = pipeline_options({});
  options.host.allocate = [](std::size_t) -> StagingPool::Memory {
    throw DeviceError("There is no page-locked memory left.");
  };
  FakePipeline pipeline(corpus, features, options);
  pipeline.start({});
  EXPECT_THROW((void)pipeline.next(), DeviceError);
}

TEST(PipelineFaults, AFailureAlsoEndsTheWaitForTheStart) {
  MemoryCorpus corpus;
  corpus.on_batch = [](DataPosition) { throw DataError("The index was cut short."); };
  FakeFeatures features(tiny_gpt().text_ids);
  FakePipeline pipeline(corpus, features, pipeline_options({}));
  pipeline.start({});
  EXPECT_THROW((void)pipeline.wait_until_ready(), DataError);
}

// Who waits for what when nothing moves any more: each test stops a pipeline that stands still.
void expect_soon(FakePipeline& pipeline) {
  const auto before = system_clock().now();
  pipeline.stop();
  EXPECT_LT(system_clock().now() - before, kSoon);
}

TEST(PipelineFaults, StopsWhileEveryQueueIsFull) {
  for (const std::size_t buffer : {1U, 4U}) {
    MemoryCorpus corpus({.clips = 400});
    FakeFeatures features(tiny_gpt().text_ids);
    FakePipeline pipeline(corpus, features, pipeline_options({.workers = 3, .buffer = buffer}));
    pipeline.start({});
    pipeline.wait_until_ready();
    expect_soon(pipeline);
    EXPECT_FALSE(pipeline.next().has_value());
  }
}

TEST(PipelineFaults, StopsWhileTheTrainerWaitsForABatch) {
  MemoryCorpus corpus;
  std::latch go_on(1);
  corpus.on_decode = [&](ClipNumber) -> std::optional<Skipped> {
    go_on.wait();
    return std::nullopt;
  };
  FakeFeatures features(tiny_gpt().text_ids);
  FakePipeline pipeline(corpus, features, pipeline_options({.workers = 3}));
  pipeline.start({});
  BlockedThread trainer([&] { EXPECT_FALSE(pipeline.next().has_value()); });
  trainer.wait_until_asleep();
  BlockedThread stopper([&] { pipeline.stop(); });
  trainer.join();  // wakes although the decoders still hang
  go_on.count_down();
  stopper.join();
}

TEST(PipelineFaults, ClosingItWaitsForNobody) {
  MemoryCorpus corpus;
  std::latch go_on(1);
  corpus.on_decode = [&](ClipNumber) -> std::optional<Skipped> {
    go_on.wait();
    return std::nullopt;
  };
  FakeFeatures features(tiny_gpt().text_ids);
  FakePipeline pipeline(corpus, features, pipeline_options({.workers = 3}));
  pipeline.start({});
  BlockedThread trainer([&] { EXPECT_FALSE(pipeline.next().has_value()); });
  trainer.wait_until_asleep();
  pipeline.close();  // a wait for the decoders, which hang, would never end
  trainer.join();
  go_on.count_down();
  expect_soon(pipeline);
}

TEST(PipelineFaults, StopsWhileTheStartWaitsForItsDelay) {
  MemoryCorpus corpus;
  FakeFeatures features(tiny_gpt().text_ids);
  PipelineOptions options = pipeline_options({});
  options.start_delay = std::chrono::hours(1);
  FakePipeline pipeline(corpus, features, options);
  pipeline.start({});
  BlockedThread trainer([&] { pipeline.wait_until_ready(); });
  trainer.wait_until_asleep();
  expect_soon(pipeline);
  trainer.join();
}

TEST(PipelineFaults, StopsBeforeItWasStartedAndTwice) {
  MemoryCorpus corpus;
  FakeFeatures features(tiny_gpt().text_ids);
  FakePipeline pipeline(corpus, features, pipeline_options({}));
  pipeline.stop();
  pipeline.stop();
}

TEST(PipelineFaults, StopsAtAnyMoment) {
  MemoryCorpus corpus({.clips = 200});
  for (std::uint64_t turn = 0; turn < 100; ++turn) {
    const RandomStream random(turn, "stop");
    FakeFeatures features(tiny_gpt().text_ids);
    FakePipeline pipeline(
        corpus, features,
        pipeline_options({.workers = static_cast<std::size_t>(random.integer(0, 1, 7)),
                          .buffer = static_cast<std::size_t>(random.integer(1, 1, 8)),
                          .ring = static_cast<std::size_t>(random.integer(2, 2, 4)),
                          .end = std::nullopt}));
    pipeline.start({});
    std::atomic<bool> trains = true;
    std::thread trainer([&] {
      while (pipeline.next()) {
      }
      trains = false;
    });
    const auto stop_at =
        system_clock().now() + std::chrono::microseconds(random.integer(3, 0, 9000));
    while (system_clock().now() < stop_at) std::this_thread::yield();
    expect_soon(pipeline);
    trainer.join();
    EXPECT_FALSE(trains);
  }
}

// Yields so often that threads meet in every order, at every call out of a stage.
class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) : random_(seed, "jitter") {}
  void operator()() {
    for (std::uint64_t left = random_.bits(turn_++) % 6; left > 2; --left)
      std::this_thread::yield();
  }

 private:
  const RandomStream random_;
  std::atomic<std::uint64_t> turn_ = 0;
};

// A thousand schedules in parts, each a test of its own.
constexpr std::uint64_t kSchedules = 100;

class PipelineSchedules : public testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Hundred, PipelineSchedules, testing::Range<std::uint64_t>(0, 10));

TEST_P(PipelineSchedules, GiveTheSameBatches) {
  MemoryCorpus corpus({.clips = 22, .batch_size = 3, .longest = 700});
  const auto expected = run_pipeline(corpus, {});
  for (std::uint64_t schedule = 0; schedule < kSchedules; ++schedule) {
    const std::uint64_t turn = GetParam() * kSchedules + schedule;
    const RandomStream random(turn, "schedule");
    Jitter jitter(turn);
    corpus.on_batch = [&](DataPosition) { jitter(); };
    corpus.on_read_ahead = [&](ClipNumber) { jitter(); };
    corpus.on_decode = [&](ClipNumber) -> std::optional<Skipped> {
      jitter();
      return std::nullopt;
    };
    FakeFeatures features(tiny_gpt().text_ids);
    features.on_fill = [&](const HostBatch&) { jitter(); };
    FakePipeline pipeline(
        corpus, features,
        pipeline_options({.workers = static_cast<std::size_t>(random.integer(0, 1, 4)),
                          .most_workers = 4,
                          .buffer = static_cast<std::size_t>(random.integer(1, 1, 5)),
                          .ring = static_cast<std::size_t>(random.integer(2, 2, 4))}));
    pipeline.start({});
    std::size_t number = 0;
    while (auto slot = pipeline.next()) {
      jitter();
      ASSERT_LT(number, expected.size());
      ASSERT_EQ(seen(**slot), expected[number++]) << "schedule " << turn;
      if (turn % 5 == 0) (void)pipeline.meters();
    }
    ASSERT_EQ(number, expected.size());
  }
}

}  // namespace
}  // namespace myxtts::pipeline_faults_test
