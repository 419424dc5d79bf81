// SPDX-License-Identifier: Apache-2.0
#include "session/trial/steady_feed.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace myxtts::steady_feed_test {
namespace {

// A pipeline in numbers: batches behind the buffer, in it, and how many come while one is trained.
struct FakeFeed {
  double buffer = 0;
  double behind = 0;
  double comes = 0;  // batches into the buffer while one is taken from behind it
  std::int64_t places = 10;
  std::int64_t places_behind = 5;
  std::int64_t batches_a_step = 1;
  std::int64_t left = 1'000'000;  // batches until the end of the data
  int steps = 0;

  bool step() {
    for (std::int64_t batch = 0; batch < batches_a_step; ++batch) {
      if (left-- == 0) return false;
      take_one();
    }
    ++steps;
    return true;
  }

  void take_one() {
    behind = std::max(0.0, behind - 1);
    while (behind + 1 <= static_cast<double>(places_behind) && buffer >= 1) {
      buffer -= 1;
      behind += 1;
    }
    buffer = std::min(static_cast<double>(places), buffer + comes);
  }

  void step_until_steady() {
    myxtts::step_until_steady({.ahead = places + places_behind,
                               .behind_buffer = places_behind,
                               .batches_a_step = batches_a_step,
                               .in_buffer = [this] { return static_cast<std::size_t>(buffer); },
                               .step = [this] { return step(); }});
  }
};

TEST(SteadyFeed, BatchesThatPiledUpBeforeASlowStageAreUsedUpFirst) {
  for (const double comes : {0.0, 0.2, 0.3}) {
    FakeFeed feed{.buffer = 10, .behind = 5, .comes = comes};
    feed.step_until_steady();
    EXPECT_LT(feed.buffer, 1) << comes;
    EXPECT_GE(feed.steps, 10) << comes;
  }
}

TEST(SteadyFeed, AFeedThatKeepsUpIsSteadyOnceWhatHasLeftTheBufferIsUsedUp) {
  FakeFeed feed{.buffer = 10, .behind = 5, .comes = 1};
  feed.step_until_steady();
  EXPECT_EQ(feed.steps, 5);
}

TEST(SteadyFeed, ABufferThatGrowsIsNotWaitedFor) {
  FakeFeed feed{.buffer = 3, .behind = 5, .comes = 2};
  feed.step_until_steady();
  EXPECT_EQ(feed.steps, 5);
  EXPECT_GT(feed.buffer, 3);
}

TEST(SteadyFeed, AnEmptyBufferHidesWhatStandsBehindIt) {
  FakeFeed feed{.buffer = 0, .behind = 5, .comes = 0.3};
  feed.step_until_steady();
  EXPECT_EQ(feed.steps, 5);
}

TEST(SteadyFeed, NoMoreIsTrainedThanThePipelineHolds) {
  FakeFeed feed{.buffer = 10, .behind = 5, .comes = 0.95};  // shrinks, but hardly
  feed.step_until_steady();
  EXPECT_EQ(feed.steps, 15);
}

TEST(SteadyFeed, StepsOfSeveralBatchesCountByTheirBatches) {
  FakeFeed feed{.buffer = 10, .behind = 5, .comes = 1, .batches_a_step = 3};
  feed.step_until_steady();
  EXPECT_EQ(feed.steps, 2);
}

TEST(SteadyFeed, TheEndOfTheDataEndsIt) {
  FakeFeed feed{.buffer = 10, .behind = 5, .comes = 0, .left = 4};
  feed.step_until_steady();
  EXPECT_EQ(feed.steps, 4);
}

}  // namespace
}  // namespace myxtts::steady_feed_test
