// SPDX-License-Identifier: Apache-2.0
#include "pipeline/data_pipeline.h"

#include <atomic>
#include <latch>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "pipeline/pipeline_bench.h"
#include "support/blocked_thread.h"

namespace myxtts::data_pipeline_test {
namespace {

using test::BenchOptions;
using test::BlockedThread;
using test::FakeFeatures;
using test::FakePipeline;
using test::hash_of;
using test::MemoryCorpus;
using test::pipeline_options;
using test::run_pipeline;
using test::SeenBatch;
using test::tiny_gpt;

constexpr DataPosition kTwoEpochs{2, 0};

TEST(DataPipeline, BatchesAreThePlansInItsOrder) {
  MemoryCorpus corpus;
  const auto batches = run_pipeline(corpus, {.end = kTwoEpochs});
  ASSERT_EQ(batches.size(), 20U);
  DataPosition position;
  for (const SeenBatch& batch : batches) {
    EXPECT_EQ(batch.position, position);
    EXPECT_EQ(batch.clips, corpus.batch(position).clips);
    position = corpus.next(position);
  }
}

TEST(DataPipeline, BatchesDoNotDependOnWorkersBufferOrRing) {
  MemoryCorpus corpus;
  const auto expected =
      run_pipeline(corpus, {.workers = 1, .buffer = 1, .ring = 2, .end = kTwoEpochs});
  for (const std::size_t workers : {1U, 2U, 7U}) {
    for (const std::size_t buffer : {1U, 50U}) {
      for (const std::size_t ring : {2U, 3U, 8U}) {
        EXPECT_EQ(
            run_pipeline(corpus,
                         {.workers = workers, .buffer = buffer, .ring = ring, .end = kTwoEpochs}),
            expected)
            << workers << " workers, buffer " << buffer << ", ring " << ring;
      }
    }
  }
}

TEST(DataPipeline, AWarmCacheGivesTheSameBatchesAndDecodesNothing) {
  MemoryCorpus cold;
  MemoryCorpus warm({.fill_cache = true});
  const auto hashes = [](const std::vector<SeenBatch>& batches) {
    std::vector<std::uint64_t> all;
    for (const SeenBatch& batch : batches) all.push_back(batch.hash);
    return all;
  };
  EXPECT_EQ(hashes(run_pipeline(cold, {.workers = 2, .end = kTwoEpochs})),
            hashes(run_pipeline(warm, {.workers = 7, .end = kTwoEpochs})));
  EXPECT_EQ(cold.decodes().size(), cold.size());
  EXPECT_TRUE(warm.decodes().empty());
}

TEST(DataPipeline, APositionSavedInMidEpochContinuesIdentically) {
  MemoryCorpus corpus;
  const auto whole = run_pipeline(corpus, {.end = kTwoEpochs});
  for (const std::size_t taken : {1U, 7U, 10U, 13U}) {
    const auto first = run_pipeline(corpus, {.workers = 7, .end = kTwoEpochs}, {}, taken);
    const DataPosition saved = corpus.next(first.back().position);
    const auto rest = run_pipeline(corpus, {.workers = 1, .end = kTwoEpochs}, saved);
    ASSERT_EQ(first.size() + rest.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const SeenBatch& batch = i < taken ? first[i] : rest[i - taken];
      EXPECT_EQ(batch.clips, whole[i].clips);
      EXPECT_EQ(batch.sounds, whole[i].sounds);
      EXPECT_EQ(batch.position, whole[i].position);
    }
  }
}

TEST(DataPipeline, EveryClipIsHeardExactlyOnceAnEpochOverAllRanksAndDecodedOnce) {
  constexpr std::int64_t kEpochs = 3;
  for (const std::int64_t ranks : {1, 2, 3, 8}) {
    for (const std::size_t workers : {1U, 2U, 7U}) {
      std::map<std::int64_t, std::multiset<std::uint64_t>> heard;
      std::map<ClipNumber, int> decodes;
      std::multiset<std::uint64_t> expected;
      std::set<std::size_t> steps;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        MemoryCorpus corpus({.clips = 29, .rank = rank, .world_size = ranks});
        const auto batches =
            run_pipeline(corpus, {.workers = workers, .end = DataPosition{kEpochs, 0}});
        steps.insert(batches.size());
        for (const SeenBatch& batch : batches) {
          heard[batch.position.epoch].insert(batch.sounds.begin(), batch.sounds.end());
        }
        for (const auto& [number, count] : corpus.decodes()) decodes[number] += count;
        if (rank > 0) continue;
        for (ClipNumber number = 0; number < corpus.size(); ++number) {
          expected.insert(hash_of(corpus.samples(number)));
        }
      }
      EXPECT_EQ(steps.size(), 1U) << "every rank has the same number of steps";
      for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) EXPECT_EQ(heard[epoch], expected);
      EXPECT_EQ(decodes.size(), expected.size());
      for (const auto& [number, count] : decodes) EXPECT_EQ(count, kEpochs) << number;
    }
  }
}

TEST(DataPipeline, OneSlowClipAndOneWorkerNeitherDeadlockNorFillTheMemory) {
  MemoryCorpus corpus({.clips = 100});
  const ClipNumber slow = corpus.batch({0, 1}).clips[2];
  std::latch others_had_time(1);
  std::atomic<int> decoded = 0;
  corpus.on_decode = [&](ClipNumber number) -> std::optional<Skipped> {
    if (number == slow) others_had_time.wait();
    ++decoded;
    return std::nullopt;
  };
  FakeFeatures features(tiny_gpt().text_ids);
  FakePipeline pipeline(corpus, features, pipeline_options({.workers = 7, .buffer = 3}));
  pipeline.start({});
  EXPECT_TRUE(pipeline.outlet().next().has_value());
  BlockedThread trainer([&] { EXPECT_TRUE(pipeline.outlet().next().has_value()); });
  trainer.wait_until_asleep();
  const PipelineReading reading = pipeline.outlet().meters();
  EXPECT_LE(reading.queue("buffer").depth.current, 3U);
  others_had_time.count_down();
  trainer.join();
  int rest = 2;
  while (pipeline.outlet().next()) ++rest;
  EXPECT_EQ(rest, 25);
  EXPECT_EQ(decoded, 100);
}

TEST(DataPipeline, AClipThatIsBadAtDecodeTimeOnlyLosesItsOwnRow) {
  MemoryCorpus corpus;
  const auto whole = run_pipeline(corpus, {});
  corpus.on_decode = [](ClipNumber number) -> std::optional<Skipped> {
    if (number % 10 != 3) return std::nullopt;
    return Skipped{.file = std::to_string(number), .reason = SkipReason::Truncated};
  };
  for (const std::size_t workers : {1U, 7U}) {
    const auto batches = run_pipeline(corpus, {.workers = workers});
    ASSERT_EQ(batches.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::vector<std::uint64_t> expected;
      for (std::size_t clip = 0; clip < whole[i].clips.size(); ++clip) {
        if (whole[i].clips[clip] % 10 != 3) expected.push_back(whole[i].sounds[clip]);
      }
      EXPECT_EQ(batches[i].sounds, expected);
    }
  }
  const auto left_out = corpus.left_out();
  ASSERT_EQ(left_out.size(), 8U);
  EXPECT_TRUE(std::equal(left_out.begin(), left_out.begin() + 4, left_out.begin() + 4))
      << "the order of reports does not depend on workers";
}

TEST(DataPipeline, TrainingStartsWhenTheRingIsFullAndTheDelayIsOver) {
  MemoryCorpus corpus;
  FakeFeatures features(tiny_gpt().text_ids);
  PipelineOptions options = pipeline_options({});
  options.start_delay = std::chrono::milliseconds(50);
  FakePipeline pipeline(corpus, features, options);
  const auto before = system_clock().now();
  pipeline.start({});
  const StartWait report = pipeline.outlet().wait_until_ready();
  EXPECT_GE(system_clock().now() - before, options.start_delay);
  EXPECT_GE(report.for_data + report.for_delay, options.start_delay);
  EXPECT_EQ(pipeline.outlet().meters().queue("ring").depth.current, 3U);
}

TEST(DataPipeline, TheStartDoesNotWaitForMoreDataThanThereIs) {
  MemoryCorpus corpus({.clips = 5, .batch_size = 4});
  FakeFeatures features(tiny_gpt().text_ids);
  FakePipeline pipeline(corpus, features, pipeline_options({.ring = 8}));
  pipeline.start({});
  pipeline.outlet().wait_until_ready();
  EXPECT_TRUE(pipeline.outlet().next().has_value());
}

TEST(DataPipeline, ItsMetersNameEveryStageAndQueueInOrderOfFlow) {
  MemoryCorpus corpus;
  FakeFeatures features(tiny_gpt().text_ids);
  FakePipeline pipeline(corpus, features, pipeline_options({.workers = 2}));
  pipeline.start({});
  while (pipeline.outlet().next()) {
  }
  const PipelineReading reading = pipeline.outlet().meters();
  std::vector<std::string> stages;
  for (const StageReading& stage : reading.stages) stages.push_back(stage.name);
  EXPECT_EQ(stages,
            (std::vector<std::string>{"reader", "decoder", "batcher", "collator", "features"}));
  std::vector<std::string> queues;
  for (const QueueReading& queue : reading.queues) queues.push_back(queue.name);
  EXPECT_EQ(queues, (std::vector<std::string>{"clips", "buffer", "settled", "staged", "ring"}));
  EXPECT_EQ(reading.batches, 10);
  EXPECT_EQ(reading.readiness.steps, 9) << "the last step's end is not known";
  EXPECT_EQ(reading.data_device.batches, 10);
  EXPECT_GT(reading.stage("decoder").load.busy.count(), 0);
  EXPECT_GT(reading.staging_bytes, 0U);
  EXPECT_NE(describe(reading).find("decoder     2 threads"), std::string::npos)
      << describe(reading);
}

TEST(DataPipeline, ABufferThatIsTooLargeForItsBytesHoldsFewerBatches) {
  MemoryCorpus corpus({.clips = 200});
  FakeFeatures features(tiny_gpt().text_ids);
  const std::size_t bytes = 3 * 4 * 2 * 4000;
  FakePipeline pipeline(corpus, features, pipeline_options({.buffer = 50, .bytes = bytes}));
  pipeline.start({});
  std::size_t most = 0;
  while (pipeline.outlet().next()) most = std::max(most, pipeline.outlet().meters().decoded_bytes);
  EXPECT_LE(most, bytes);
  EXPECT_GT(most, 0U);
}

TEST(DataPipeline, AutotuneAddsWorkersWithoutChangingTheBatches) {
  MemoryCorpus plain({.clips = 4000, .longest = 600});
  const auto expected = run_pipeline(plain, {.workers = 1});
  MemoryCorpus tuned({.clips = 4000, .longest = 600});
  EXPECT_EQ(
      run_pipeline(tuned, {.workers = 1, .most_workers = 4, .buffer = 2, .tune_buffer = true}),
      expected);
}

}  // namespace
}  // namespace myxtts::data_pipeline_test
