// SPDX-License-Identifier: Apache-2.0
#include "session/rank_feeds.h"

#include <algorithm>
#include <utility>

namespace myxtts {

RankFeed::~RankFeed() {
  if (!left_) feed_->leave(rank_);
}

void RankFeed::finish() {
  if (!std::exchange(left_, true) && feed_->leave(rank_)) feed_->finish();
}

RankFeeds::RankFeeds(const FeedParts& parts)
    : parts_(parts), ranks_(std::max<std::size_t>(1, parts.ranks.size())), measured_(ranks_) {}

// A rank may have left a feed before another joins it, so that it is kept here until all have.
std::unique_ptr<RankFeed> RankFeeds::join(Shared& shared, Make make, std::size_t rank) {
  if (shared.feed == nullptr) shared.feed = make(parts_);
  auto own = std::make_unique<RankFeed>(shared.feed, rank);
  if (++shared.ranks == ranks_) shared.feed.reset();
  return own;
}

std::unique_ptr<RankFeed> RankFeeds::training(std::size_t rank) {
  const std::lock_guard lock(mutex_);
  return join(training_, BatchFeed::for_training, rank);
}

std::unique_ptr<RankFeed> RankFeeds::validation(std::size_t rank) {
  const std::lock_guard lock(mutex_);
  const std::int64_t number = measured_.at(rank)++;
  Shared& shared = measurements_[number];
  auto own = join(shared, BatchFeed::for_validation, rank);
  if (shared.ranks == ranks_) measurements_.erase(number);
  return own;
}

}  // namespace myxtts
