// SPDX-License-Identifier: Apache-2.0
//
// One pipeline that feeds the trainers of several ranks.
#include <atomic>
#include <barrier>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "pipeline/pipeline_bench.h"
#include "support/blocked_thread.h"

namespace myxtts::shared_pipeline_test {
namespace {

using std::chrono::seconds;
using test::BenchOptions;
using test::BlockedThread;
using test::FakeFeatures;
using test::FakePipeline;
using test::hash_of;
using test::MemoryCorpus;
using test::MemoryCorpusOptions;
using test::run_pipeline;
using test::SeenBatch;
using test::tiny_gpt;

constexpr auto kSoon = seconds(20);  // as in pipeline_faults_test.cpp

PipelineOptions shared_options(std::size_t trainers, const BenchOptions& options) {
  PipelineOptions pipeline = test::pipeline_options(options);
  pipeline.trainers.resize(trainers);
  return pipeline;
}

// What each rank's trainer sees, one thread for each.
std::vector<std::vector<SeenBatch>> run_shared(MemoryCorpus& corpus, const BenchOptions& options,
                                               DataPosition position = {}) {
  FakeFeatures features(tiny_gpt().text_ids);
  const auto ranks = static_cast<std::size_t>(corpus.ranks());
  FakePipeline pipeline(corpus, features, shared_options(ranks, options));
  pipeline.start(position);
  std::vector<std::vector<SeenBatch>> all(ranks);
  {
    std::vector<std::jthread> trainers;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      trainers.emplace_back([&, rank] {
        while (const auto slot = pipeline.next(rank)) all[rank].push_back(test::seen(**slot));
      });
    }
  }
  return all;
}

// The same ranks with a pipeline each.
std::vector<std::vector<SeenBatch>> run_apart(MemoryCorpusOptions options,
                                              const BenchOptions& bench,
                                              DataPosition position = {}) {
  std::vector<std::vector<SeenBatch>> all;
  for (options.rank = 0; options.rank < options.world_size; ++options.rank) {
    MemoryCorpus corpus(options);
    all.push_back(run_pipeline(corpus, bench, position));
  }
  return all;
}

// The hash has every number that a trainer would see in it, the batch's own among them.
TEST(SharedPipeline, EachRankGetsTheBatchesOfAPipelineOfItsOwn) {
  for (const std::int64_t ranks : {2, 3, 8}) {
    for (const bool cached : {false, true}) {
      for (const std::int64_t batches_a_step : {1, 3}) {
        const MemoryCorpusOptions options{.clips = 59, .world_size = ranks, .fill_cache = cached};
        const BenchOptions bench{
            .workers = 3, .end = DataPosition{3, 0}, .batches_a_step = batches_a_step};
        MemoryCorpus corpus(options);
        const auto apart = run_apart(options, bench);
        ASSERT_NE(apart[0], apart[1]);
        EXPECT_EQ(run_shared(corpus, bench), apart) << ranks << " ranks, cached " << cached;
      }
    }
  }
}

TEST(SharedPipeline, APositionInMidEpochContinuesIdentically) {
  const MemoryCorpusOptions options{.clips = 59, .world_size = 3};
  const BenchOptions bench{.end = DataPosition{3, 0}};
  for (const DataPosition from : {DataPosition{0, 1}, DataPosition{1, 4}, DataPosition{2, 0}}) {
    MemoryCorpus corpus(options);
    EXPECT_EQ(run_shared(corpus, bench, from), run_apart(options, bench, from));
  }
}

TEST(SharedPipeline, EveryClipIsHeardOnceAnEpochAndDecodedOnce) {
  constexpr std::int64_t kEpochs = 2;
  MemoryCorpus corpus({.clips = 59, .world_size = 3});
  std::map<std::int64_t, std::multiset<std::uint64_t>> heard;
  for (const auto& batches : run_shared(corpus, {.end = DataPosition{kEpochs, 0}})) {
    for (const SeenBatch& batch : batches) {
      heard[batch.position.epoch].insert(batch.sounds.begin(), batch.sounds.end());
    }
  }
  std::multiset<std::uint64_t> expected;
  for (ClipNumber number = 0; number < corpus.size(); ++number) {
    expected.insert(hash_of(corpus.samples(number)));
  }
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) EXPECT_EQ(heard[epoch], expected);
  for (const auto& [number, count] : corpus.decodes()) EXPECT_EQ(count, kEpochs) << number;
}

// Ranks wait for one another in every step; whatever their rings hold, nobody starves.
TEST(SharedPipeline, TrainersThatMeetInEveryStepAllGoOn) {
  for (const std::size_t ring : {2U, 3U, 8U}) {
    MemoryCorpus corpus({.clips = 200, .world_size = 3});
    FakeFeatures features(tiny_gpt().text_ids);
    FakePipeline pipeline(corpus, features, shared_options(3, {.buffer = 1, .ring = ring}));
    pipeline.start({});
    std::barrier step(3);
    std::vector<int> steps(3);
    {
      std::vector<std::jthread> trainers;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        trainers.emplace_back([&, rank] {
          pipeline.wait_until_ready(rank);
          while (const auto slot = pipeline.next(rank)) {
            ++steps[rank];
            step.arrive_and_wait();  // with its slot still in use
          }
        });
      }
    }
    EXPECT_EQ(steps, std::vector<int>(3, static_cast<int>(corpus.steps_per_epoch())));
  }
}

// A slow rank delays the others by what its own ring holds, and not before.
TEST(SharedPipeline, OthersGoOnUntilTheRingOfASlowRankIsFull) {
  MemoryCorpus corpus({.clips = 200, .world_size = 2});
  FakeFeatures features(tiny_gpt().text_ids);
  FakePipeline pipeline(corpus, features, shared_options(2, {.ring = 3}));
  pipeline.start({});
  for (int batch = 0; batch < 4; ++batch) ASSERT_TRUE(pipeline.next(0).has_value());
  BlockedThread fast([&] { EXPECT_TRUE(pipeline.next(0).has_value()); });
  fast.wait_until_asleep();
  EXPECT_EQ(pipeline.meters(1).queue("ring").depth.current, 3U);
  EXPECT_TRUE(pipeline.next(1).has_value());
  fast.join();
}

TEST(SharedPipeline, WaitsOfEachRankAreItsOwn) {
  MemoryCorpus corpus({.clips = 200, .world_size = 2});
  FakeFeatures features(tiny_gpt().text_ids);
  FakePipeline pipeline(corpus, features, shared_options(2, {}));
  pipeline.start({});
  pipeline.wait_until_ready(0);
  pipeline.wait_until_ready(1);
  for (int batch = 0; batch < 2; ++batch) ASSERT_TRUE(pipeline.next(0).has_value());
  const auto first = pipeline.meters(0);
  const auto second = pipeline.meters(1);
  EXPECT_EQ(first.readiness.steps, 1);
  EXPECT_EQ(second.readiness.steps, 0);
  EXPECT_EQ(second.queue("ring").depth.current, 3U);
  EXPECT_EQ(second.stages.size(), 5U);
  EXPECT_GE(second.data_device.batches, 6) << "the data device works for both";
}

TEST(SharedPipeline, ATrainerThatLeavesDoesNotDisturbTheOthers) {
  const MemoryCorpusOptions options{.clips = 100, .world_size = 3};
  const auto apart = run_apart(options, {});
  for (std::size_t leaving = 0; leaving < 3; ++leaving) {
    MemoryCorpus corpus(options);
    FakeFeatures features(tiny_gpt().text_ids);
    FakePipeline pipeline(corpus, features, shared_options(3, {}));
    pipeline.start({});
    pipeline.wait_until_ready(leaving);
    pipeline.leave(leaving);
    EXPECT_FALSE(pipeline.next(leaving).has_value());
    std::vector<std::jthread> trainers;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      if (rank == leaving) continue;
      trainers.emplace_back([&, rank] {
        for (const SeenBatch& expected : apart[rank]) {
          const auto slot = pipeline.next(rank);
          ASSERT_TRUE(slot.has_value());
          EXPECT_EQ(test::seen(**slot), expected);
        }
        EXPECT_FALSE(pipeline.next(rank).has_value());
      });
    }
  }
}

TEST(SharedPipeline, AFailureInAnyStageReachesEveryRankWithItsCause) {
  for (const std::string stage : {"read_ahead", "decode", "features"}) {
    MemoryCorpus corpus({.clips = 400, .world_size = 3});
    FakeFeatures features(tiny_gpt().text_ids);
    std::atomic<int> calls = 0;
    const auto fail_at_fifty = [&] {
      if (++calls == 50) throw DataError("Injected into " + stage + ".");
    };
    if (stage == "read_ahead") corpus.on_read_ahead = [&](ClipNumber) { fail_at_fifty(); };
    if (stage == "decode") {
      corpus.on_decode = [&](ClipNumber) -> std::optional<Skipped> {
        fail_at_fifty();
        return std::nullopt;
      };
    }
    if (stage == "features") features.on_fill = [&](const HostBatch&) { fail_at_fifty(); };
    FakePipeline pipeline(corpus, features, shared_options(3, {.workers = 7}));
    pipeline.start({});
    std::vector<std::string> causes(3);
    {
      std::vector<std::jthread> trainers;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        trainers.emplace_back([&, rank] {
          try {
            while (pipeline.next(rank)) {
            }
          } catch (const DataError& error) {
            causes[rank] = error.what();
          }
        });
      }
    }
    EXPECT_EQ(causes, std::vector<std::string>(3, "Injected into " + stage + "."));
  }
}

// Trainers leave, or one of them stops all, at random moments and in every order.
TEST(SharedPipeline, EndsInEveryOrderAtAnyMoment) {
  const RandomStream random(5, "moments");
  for (int round = 0; round < 60; ++round) {
    const auto draw = [&](std::uint64_t place, std::int64_t most) {
      return random.integer(static_cast<std::uint64_t>(round) * 16 + place, 0, most);
    };
    MemoryCorpus corpus({.clips = 120, .world_size = 3});
    FakeFeatures features(tiny_gpt().text_ids);
    FakePipeline pipeline(corpus, features, shared_options(3, {.workers = 2, .buffer = 2}));
    pipeline.start({});
    const auto began = system_clock().now();
    {
      std::vector<std::jthread> trainers;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        const auto batches = draw(rank, 12);
        const bool stops_all = draw(4 + rank, 3) == 0;
        trainers.emplace_back([&, rank, batches, stops_all] {
          for (std::int64_t batch = 0; batch < batches && pipeline.next(rank); ++batch) {
          }
          if (stops_all) return pipeline.close();
          pipeline.leave(rank);
        });
      }
    }
    pipeline.stop();
    EXPECT_LT(system_clock().now() - began, kSoon);
  }
}

TEST(SharedPipeline, FeedsOneRankOrAllOfThem) {
  MemoryCorpus corpus({.world_size = 3});
  FakeFeatures features(tiny_gpt().text_ids);
  EXPECT_THROW(FakePipeline(corpus, features, shared_options(2, {})), InternalError);
}

}  // namespace
}  // namespace myxtts::shared_pipeline_test
