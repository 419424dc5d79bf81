// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "config/run_config.h"
#include "device/plan/device_plan.h"
#include "device/plan/start_messages.h"
#include "pipeline/data_pipeline.h"
#include "pipeline/feature_stage.h"
#include "session/feed/run_data.h"
#include "session/run_devices.h"

namespace myxtts {

// What every feed of a run shares. All of it outlives the feeds.
struct FeedParts {
  const RunConfig& config;
  const DevicePlan& plan;
  const GptConfig& gpt;
  const RunData& data;
  RunDevices& devices;
  const StageProbe* probe = nullptr;  // of a trial
  // The model devices of all ranks, where one feed is for those of a whole run; empty: for the one
  // of `devices` alone.
  std::vector<BatchTarget> ranks = {};
};

// Batches on the model device, from the files of one part of the data: the pipeline with its
// feature stage, set up by the settings of a run. It has one trainer, or one for each rank: these
// call with their numbers. Threads are as in DataPipeline.
class BatchFeed {
 public:
  using Pipeline = DataPipeline<FeatureStage>;

  // Training batches, epoch after epoch up to --epochs.
  static std::unique_ptr<BatchFeed> for_training(const FeedParts& parts);
  // The validation clips once: nothing masked, prompts where evaluation has them.
  static std::unique_ptr<BatchFeed> for_validation(const FeedParts& parts);

  BatchFeed(const FeedParts& parts, const RunData::Part& part, const PipelineOptions& options);

  // The first call starts it; any thread's.
  void start(DataPosition position);
  StartWait wait_until_ready(std::size_t trainer = 0);
  [[nodiscard]] std::optional<Pipeline::Slot> next(std::size_t trainer = 0) {
    return pipeline_.next(trainer);
  }
  // Once, by each trainer. Whether it was the last one.
  bool leave(std::size_t trainer);
  void close() { pipeline_.close(); }
  void stop() { pipeline_.stop(); }
  // The same, and waits until what was computed is in the feature cache, where there is one.
  void finish();

  PipelineReading meters(std::size_t trainer = 0) const { return pipeline_.meters(trainer); }
  PipelineFacts facts() const;
  std::chrono::nanoseconds start_delay() const { return options_.start_delay; }

 private:
  const PipelineOptions options_;
  std::unique_ptr<CacheFiller> filler_;  // null: nothing is cached
  FeatureStage stage_;
  Pipeline pipeline_;
  std::once_flag started_;
  std::atomic<std::size_t> left_ = 0;  // trainers
};

// One rank's end of a feed, which it leaves at the latest when it is destroyed. The trainer's
// thread; close() and meters() are any thread's.
class RankFeed {
 public:
  using Slot = BatchFeed::Pipeline::Slot;

  RankFeed(std::shared_ptr<BatchFeed> feed, std::size_t rank)
      : feed_(std::move(feed)), rank_(rank) {}
  RankFeed(const RankFeed&) = delete;
  RankFeed& operator=(const RankFeed&) = delete;
  ~RankFeed();

  void start(DataPosition position) { feed_->start(position); }
  StartWait wait_until_ready() { return feed_->wait_until_ready(rank_); }
  [[nodiscard]] std::optional<Slot> next() { return feed_->next(rank_); }
  void close() { feed_->close(); }  // for all ranks
  // Wants no more. The last rank to do so waits until what was computed is in the feature cache.
  void finish();

  PipelineReading meters() const { return feed_->meters(rank_); }
  PipelineFacts facts() const { return feed_->facts(); }
  std::chrono::nanoseconds start_delay() const { return feed_->start_delay(); }

 private:
  const std::shared_ptr<BatchFeed> feed_;
  const std::size_t rank_;
  bool left_ = false;
};

// The feeds of a run: one to train from, and one for each measurement. Each is made by the first
// rank that asks and shared by all ranks of the process. Any thread may ask, a rank's own for it.
// The parts outlive it.
class RankFeeds {
 public:
  explicit RankFeeds(const FeedParts& parts);

  std::unique_ptr<RankFeed> training(std::size_t rank);
  // A rank's n-th call joins the others' n-th.
  std::unique_ptr<RankFeed> validation(std::size_t rank);

 private:
  struct Shared {
    std::shared_ptr<BatchFeed> feed = {};
    std::size_t ranks = 0;  // that have joined
  };
  using Make = std::unique_ptr<BatchFeed> (*)(const FeedParts&);

  std::unique_ptr<RankFeed> join(Shared& shared, Make make, std::size_t rank);

  const FeedParts& parts_;
  const std::size_t ranks_;

  // Everything below is guarded by mutex_.
  std::mutex mutex_;
  Shared training_;
  std::map<std::int64_t, Shared> measurements_;  // that not all ranks have joined yet
  std::vector<std::int64_t> measured_;           // by each rank
};

}  // namespace myxtts
