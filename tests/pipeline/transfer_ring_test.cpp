// SPDX-License-Identifier: Apache-2.0
#include "pipeline/transfer_ring.h"

#include <atomic>
#include <cstdint>
#include <future>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace myxtts::transfer_ring_test {
namespace {

struct PlainBatch {
  std::int64_t number = -1;
};
using Ring = TransferRing<PlainBatch>;

constexpr std::size_t kSlots = 3;

Ring make_ring(std::size_t slots = kSlots) {
  return Ring(std::vector<PlainBatch>(slots));
}

bool publish_batch(Ring& ring, std::int64_t number) {
  auto slot = ring.claim();
  if (!slot) return false;
  (*slot)->number = number;
  ring.publish(std::move(*slot));
  return true;
}

void fill(Ring& ring) {
  for (std::size_t i = 0; i < ring.size(); ++i) {
    ASSERT_TRUE(publish_batch(ring, static_cast<std::int64_t>(i)));
  }
}

TEST(TransferRing, DeliversEveryBatchOnceAndInOrder) {
  for (const std::size_t slots : {2U, 3U, 8U}) {
    auto ring = make_ring(slots);
    const std::int64_t batches = 10'000;
    std::jthread producer([&] {
      for (std::int64_t number = 0; number < batches; ++number) publish_batch(ring, number);
      ring.finish();
    });

    std::int64_t expected = 0;
    while (auto slot = ring.take()) EXPECT_EQ((*slot)->number, expected++);
    EXPECT_EQ(expected, batches);
  }
}

TEST(TransferRing, ASlotIsUsedAgainOnlyAfterAllOthers) {
  auto ring = make_ring();
  std::vector<PlainBatch*> used;
  for (int i = 0; i < 6; ++i) {
    auto slot = ring.claim();
    used.push_back(&**slot);
  }
  EXPECT_NE(used[0], used[1]);
  EXPECT_EQ(used[0], used[3]);  // the longest since anybody read it: the least to wait for
  EXPECT_EQ(used[2], used[5]);
}

TEST(TransferRing, AProducerWaitsWhileEverySlotIsReadyOrInUse) {
  auto ring = make_ring();
  fill(ring);
  auto in_use = ring.take();
  std::atomic<bool> claimed = false;
  std::jthread producer([&] {
    publish_batch(ring, 3);
    claimed = true;
  });
  EXPECT_EQ(ring.depth().current, kSlots - 1);
  EXPECT_FALSE(claimed);
  { const auto given_back = std::move(in_use); }
  producer.join();  // a lost wake-up hangs here, and CTest's time limit reports it
  EXPECT_TRUE(claimed);
}

TEST(TransferRing, ASlotDroppedWithoutPublishingIsFreeAgain) {
  auto ring = make_ring();
  for (std::size_t i = 0; i < 10 * kSlots; ++i) {
    ASSERT_TRUE(ring.claim().has_value());
  }
}

TEST(TransferRing, AProducerFailureReachesTheConsumerAndIsNotTheEndOfData) {
  auto ring = make_ring();
  publish_batch(ring, 0);
  ring.fail(std::make_exception_ptr(DataError("clip_0042.wav has no samples.")));
  ring.fail(std::make_exception_ptr(DeviceError("a second one")));

  EXPECT_THROW((void)ring.take(), DataError);
  EXPECT_THROW((void)ring.take(), DataError);
  EXPECT_THROW(ring.wait_until_full(), DataError);
}

TEST(TransferRing, AFailureWakesAWaitingConsumer) {
  auto ring = make_ring();
  auto waiting = std::async(std::launch::async, [&ring] { return ring.take().has_value(); });
  ring.fail(std::make_exception_ptr(DataError("clip_0042.wav has no samples.")));
  EXPECT_THROW((void)waiting.get(), DataError);
}

TEST(TransferRing, StoppingWakesBothSides) {
  auto full = make_ring();
  fill(full);
  auto producer = std::async(std::launch::async, [&full] { return full.claim().has_value(); });
  full.stop();
  EXPECT_FALSE(producer.get());
  EXPECT_FALSE(full.take().has_value());

  auto empty = make_ring();
  auto consumer = std::async(std::launch::async, [&empty] { return empty.take().has_value(); });
  empty.stop();
  EXPECT_FALSE(consumer.get());
}

TEST(TransferRing, AConsumerThatWaitsForAFullRingGoesOnWhenThereIsNoMoreData) {
  auto ring = make_ring();
  publish_batch(ring, 0);
  auto waiting = std::async(std::launch::async, [&ring] { ring.wait_until_full(); });
  ring.finish();
  waiting.get();
  EXPECT_EQ((*ring.take())->number, 0);
  EXPECT_FALSE(ring.take().has_value());
}

TEST(TransferRing, OneSlotIsNoRing) {
  EXPECT_THROW(make_ring(1), InternalError);
}

// Both sides leave at a random moment, by themselves or from outside: nobody stays behind.
TEST(TransferRing, StoppingAtAnyMomentLeavesNobodyWaiting) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    auto ring = make_ring(2 + random() % 3);
    const auto stop_after = static_cast<std::int64_t>(random() % 20);
    std::jthread producer([&] {
      for (std::int64_t number = 0; publish_batch(ring, number); ++number) {
      }
    });
    std::int64_t taken = 0;
    while (taken < stop_after && ring.take()) ++taken;
    ring.stop();
    EXPECT_EQ(taken, stop_after);
  }
}

}  // namespace
}  // namespace myxtts::transfer_ring_test
