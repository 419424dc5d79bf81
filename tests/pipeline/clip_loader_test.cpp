// SPDX-License-Identifier: Apache-2.0
#include "pipeline/clip_loader.h"

#include <latch>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/thread_group.h"
#include "support/blocked_thread.h"
#include "support/memory_corpus.h"

namespace myxtts::clip_loader_test {
namespace {

using test::BlockedThread;
using test::MemoryCorpus;

constexpr std::int64_t kStride = 256;

PipelineOptions options_of(std::size_t workers = 1, std::size_t most_workers = 1) {
  PipelineOptions options;
  options.gpt.code_stride = kStride;
  options.workers = workers;
  options.most_workers = most_workers;
  return options;
}

TEST(ClipLoader, ADecodedClipHasItsTextAndItsSamples) {
  const MemoryCorpus corpus;
  const ClipResult result = load_clip(corpus, 3, kStride);
  const auto& clip = std::get<LoadedClip>(result);
  EXPECT_FALSE(clip.is_cached());
  EXPECT_EQ(clip.number, 3U);
  EXPECT_EQ(clip.text, corpus.text_ids(corpus.clip(3)));
  EXPECT_TRUE(std::ranges::equal(clip.samples(), corpus.samples(3)));
}

TEST(ClipLoader, ACachedClipIsNotDecoded) {
  const MemoryCorpus corpus({.fill_cache = true});
  const ClipResult result = load_clip(corpus, 3, kStride);
  const auto& clip = std::get<LoadedClip>(result);
  EXPECT_TRUE(clip.is_cached());
  EXPECT_TRUE(std::ranges::equal(clip.samples(), corpus.samples(3)));
  EXPECT_TRUE(corpus.decodes().empty());
}

TEST(ClipLoader, ACachedClipOfAnotherLengthIsDecodedAgain) {
  const MemoryCorpus corpus({.fill_cache = true});
  // As if the cache had been filled for a network of twice the stride.
  EXPECT_FALSE(std::get<LoadedClip>(load_clip(corpus, 3, 2 * kStride)).is_cached());
  EXPECT_EQ(corpus.decodes().at(3), 1);
}

TEST(ClipLoader, AFileThatBecameShorterIsLeftOutWithBothLengths) {
  class Shorter final : public BatchSource {
   public:
    explicit Shorter(const BatchSource& whole) : whole_(whole) {}
    PlannedBatch batch(DataPosition position) const override { return whole_.batch(position); }
    DataPosition next(DataPosition position) const override { return whole_.next(position); }
    ClipView clip(ClipNumber number) const override {
      ClipView view = whole_.clip(number);
      view.source_frames += 5;
      return view;
    }
    std::vector<std::int64_t> text_ids(const ClipView& view) const override {
      return whole_.text_ids(view);
    }
    PromptSpan prompt(std::int64_t, const ClipView&, std::uint32_t) const override { return {}; }
    std::optional<CachedClip> cached(const ClipView&) const override { return {}; }
    void read_ahead(const ClipView&) const override {}
    std::variant<DecodedClip, Skipped> decode(const ClipView& view) const override {
      return whole_.decode(view);
    }
    void leave_out(ClipNumber, const Skipped&) override {}

   private:
    const BatchSource& whole_;
  };
  const MemoryCorpus corpus;
  const Shorter shorter(corpus);
  const ClipResult result = load_clip(shorter, 3, kStride);
  const auto& skipped = std::get<Skipped>(result);
  EXPECT_EQ(skipped.reason, SkipReason::Truncated);
  const auto length = corpus.samples(3).size();
  EXPECT_NE(skipped.measured.find(std::to_string(length)), std::string::npos) << skipped.measured;
  EXPECT_NE(skipped.measured.find(std::to_string(length + 5)), std::string::npos);
}

// A clip loader with its queues, and one batch of `clips` clips reserved and handed out.
struct Bench {
  explicit Bench(const BatchSource& source, std::size_t clips, const PipelineOptions& options)
      : loader(source, jobs, window, options) {
    PlannedBatch planned;
    for (std::size_t i = 0; i < clips; ++i) planned.clips.push_back(static_cast<ClipNumber>(i));
    EXPECT_TRUE(window.reserve(0, planned, 0));
    for (std::size_t i = 0; i < clips; ++i) {
      EXPECT_TRUE(jobs.push({.batch = 0, .index = i, .clip = static_cast<ClipNumber>(i)}));
    }
  }

  BatchWindow window{4};
  BoundedQueue<LoadJob> jobs{100};
  ClipLoader loader;
};

TEST(ClipLoader, PutsEachClipIntoItsPlace) {
  const MemoryCorpus corpus;
  Bench bench(corpus, 8, options_of(3, 3));
  bench.jobs.finish();
  ThreadGroup threads;
  for (std::size_t worker = 0; worker < 3; ++worker) {
    threads.start("decoder", [&, worker] { bench.loader.run(worker); });
  }
  threads.join();
  const auto batch = bench.window.take();
  ASSERT_TRUE(batch.has_value());
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(batch->clips[i].number, i);
  }
}

TEST(ClipLoader, ABadClipIsAValueAndTheOthersGoOn) {
  MemoryCorpus corpus;
  corpus.on_decode = [](ClipNumber number) -> std::optional<Skipped> {
    if (number != 1) return std::nullopt;
    return Skipped{.file = "1", .reason = SkipReason::Silent};
  };
  Bench bench(corpus, 3, options_of());
  bench.jobs.finish();
  bench.loader.run(0);
  const auto batch = bench.window.take();
  ASSERT_EQ(batch->clips.size(), 2U);
  EXPECT_EQ(batch->clips[0].number, 0U);
  EXPECT_EQ(batch->clips[1].number, 2U);
  ASSERT_EQ(batch->skipped.size(), 1U);
  EXPECT_EQ(batch->skipped[0].first, 1U);
  EXPECT_EQ(batch->skipped[0].second.reason, SkipReason::Silent);
}

TEST(ClipLoader, AnExceptionReachesTheBatcherAndEndsTheReaderAndTheOtherWorkers) {
  MemoryCorpus corpus;
  corpus.on_decode = [](ClipNumber) -> std::optional<Skipped> {
    throw DeviceError("There is no memory left.");
  };
  Bench bench(corpus, 3, options_of(2, 5));
  ThreadGroup threads;
  for (std::size_t worker = 0; worker < 5; ++worker) {
    threads.start("decoder", [&, worker] { bench.loader.run(worker); });
  }
  EXPECT_THROW((void)bench.window.take(), DeviceError);
  threads.join();
  EXPECT_FALSE(bench.jobs.push({}));
}

TEST(ClipLoader, OnlyAsManyWorkAsAreAskedForAndMoreCanBeAdded) {
  MemoryCorpus corpus;
  std::latch two_at_once(2);
  corpus.on_decode = [&](ClipNumber) -> std::optional<Skipped> {
    two_at_once.arrive_and_wait();  // a hang here is a worker that never came
    return std::nullopt;
  };
  Bench bench(corpus, 2, options_of(1, 2));
  bench.jobs.finish();
  BlockedThread first([&] { bench.loader.run(0); });
  first.wait_until_asleep();  // waits for the second one
  BlockedThread second([&] { bench.loader.run(1); });
  second.wait_until_asleep();  // stands by
  EXPECT_EQ(corpus.decodes().size(), 1U);
  EXPECT_EQ(bench.loader.load().busy.count() > 0, true);
  bench.loader.set_workers(2);
  first.join();
  second.join();
  EXPECT_EQ(corpus.decodes().size(), 2U);
}

TEST(ClipLoader, WorkersThatWaitForClipsAndThoseThatStandByLeaveWhenStopped) {
  const MemoryCorpus corpus;
  Bench bench(corpus, 0, options_of(1, 2));
  BlockedThread waits([&] { bench.loader.run(0); });
  BlockedThread stands_by([&] { bench.loader.run(1); });
  waits.wait_until_asleep();
  stands_by.wait_until_asleep();
  bench.jobs.stop();
  waits.join();
  stands_by.join();
}

}  // namespace
}  // namespace myxtts::clip_loader_test
