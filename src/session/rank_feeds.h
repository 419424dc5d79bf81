// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "session/batch_feed.h"

namespace myxtts {

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
