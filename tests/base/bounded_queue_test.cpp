// SPDX-License-Identifier: Apache-2.0
#include "base/bounded_queue.h"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "support/blocked_thread.h"
#include "support/fake_clock.h"

namespace myxtts::bounded_queue_test {
namespace {

using namespace std::chrono_literals;
using test::BlockedThread;

std::exception_ptr cause(const char* text = "the disk broke") {
  return std::make_exception_ptr(std::runtime_error(text));
}

std::string thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(BoundedQueue, GivesItemsInTheOrderTheyCame) {
  BoundedQueue<std::unique_ptr<int>> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.push(std::make_unique<int>(i)));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(**queue.pop(), i);
}

TEST(BoundedQueue, AfterFinishConsumersDrainThenGetNothing) {
  BoundedQueue<int> queue(3);
  EXPECT_TRUE(queue.push(1));
  EXPECT_TRUE(queue.push(2));
  queue.finish();
  EXPECT_FALSE(queue.ended());
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_TRUE(queue.ended());
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, DataEndsOnlyWhenTheLastProducerFinished) {
  BoundedQueue<int> queue(3, /*producers=*/2);
  queue.finish();
  EXPECT_FALSE(queue.ended());
  EXPECT_TRUE(queue.push(7));
  queue.finish();
  EXPECT_EQ(queue.pop(), 7);
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_THROW(queue.finish(), InternalError);
}

TEST(BoundedQueue, APushAfterTheEndIsABugAndNotALostItem) {
  BoundedQueue<int> queue(1);
  queue.finish();
  EXPECT_THROW(static_cast<void>(queue.push(1)), InternalError);
  int item = 1;
  EXPECT_THROW(static_cast<void>(queue.try_push(item)), InternalError);
}

TEST(BoundedQueue, AFailureGoesBeforeItemsAndReachesEveryPop) {
  BoundedQueue<int> queue(3);
  EXPECT_TRUE(queue.push(1));
  queue.fail(cause());
  EXPECT_EQ(queue.depth().current, 0u);
  for (int consumer = 0; consumer < 3; ++consumer) {
    EXPECT_EQ(thrown_by([&] { static_cast<void>(queue.pop()); }), "the disk broke");
    EXPECT_EQ(thrown_by([&] { static_cast<void>(queue.try_pop()); }), "the disk broke");
    EXPECT_EQ(thrown_by([&] { static_cast<void>(queue.ended()); }), "the disk broke");
  }
  EXPECT_FALSE(queue.push(2));
}

TEST(BoundedQueue, AFailureIsNeverAnEndOfDataWhateverElseHappened) {
  BoundedQueue<int> finished(1);
  finished.finish();
  finished.fail(cause());
  EXPECT_THROW(static_cast<void>(finished.pop()), std::runtime_error);

  BoundedQueue<int> stopped(1);
  stopped.stop();
  stopped.fail(cause());
  EXPECT_THROW(static_cast<void>(stopped.pop()), std::runtime_error);

  BoundedQueue<int> failed_first(1);
  failed_first.fail(cause());
  failed_first.stop();
  failed_first.finish();
  EXPECT_THROW(static_cast<void>(failed_first.pop()), std::runtime_error);
}

TEST(BoundedQueue, TheFirstFailureIsKept) {
  BoundedQueue<int> queue(1, /*producers=*/2);
  queue.fail(cause("first"));
  queue.fail(cause("second"));
  EXPECT_EQ(thrown_by([&] { static_cast<void>(queue.pop()); }), "first");
  EXPECT_THROW(queue.fail(nullptr), InternalError);
}

TEST(BoundedQueue, AfterStopPushesAreRefusedAndItemsAreGone) {
  BoundedQueue<std::shared_ptr<int>> queue(2);
  const auto item = std::make_shared<int>(1);
  EXPECT_TRUE(queue.push(item));
  queue.stop();
  EXPECT_EQ(item.use_count(), 1) << "a stopped queue holds on to its items";
  EXPECT_FALSE(queue.push(item));
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_TRUE(queue.ended());
}

TEST(BoundedQueue, TryPushAndTryPopNeverWait) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  EXPECT_EQ(queue.try_pop(), std::nullopt);
  auto first = std::make_unique<int>(1);
  auto second = std::make_unique<int>(2);
  EXPECT_TRUE(queue.try_push(first));
  EXPECT_FALSE(queue.try_push(second));
  ASSERT_NE(second, nullptr) << "a refused item was taken away";
  EXPECT_EQ(**queue.try_pop(), 1);
  queue.stop();
  EXPECT_FALSE(queue.try_push(second));
}

TEST(BoundedQueue, AFullQueueHoldsAPushUntilThereIsRoom) {
  BoundedQueue<int> queue(1);
  EXPECT_TRUE(queue.push(1));
  bool taken = false;
  BlockedThread producer([&] { taken = queue.push(2); });
  producer.wait_until_asleep();
  EXPECT_EQ(queue.depth().current, 1u);
  EXPECT_EQ(queue.pop(), 1);
  producer.join();
  EXPECT_TRUE(taken);
  EXPECT_EQ(queue.pop(), 2);
}

TEST(BoundedQueue, AnItemWakesAWaitingConsumer) {
  BoundedQueue<int> queue(1);
  std::optional<int> item;
  BlockedThread consumer([&] { item = queue.pop(); });
  consumer.wait_until_asleep();
  EXPECT_TRUE(queue.push(5));
  consumer.join();
  EXPECT_EQ(item, 5);
}

// Two sleepers on one side: a close that wakes only one of them hangs here.
TEST(BoundedQueue, FinishWakesAllConsumers) {
  BoundedQueue<int> queue(1);
  std::optional<int> first = 1;
  std::optional<int> second = 1;
  BlockedThread one([&] { first = queue.pop(); });
  BlockedThread two([&] { second = queue.pop(); });
  one.wait_until_asleep();
  two.wait_until_asleep();
  queue.finish();
  one.join();
  two.join();
  EXPECT_EQ(first, std::nullopt);
  EXPECT_EQ(second, std::nullopt);
}

TEST(BoundedQueue, StopWakesAllOnBothSides) {
  BoundedQueue<int> full(1);
  BoundedQueue<int> empty(1);
  EXPECT_TRUE(full.push(1));
  bool refused[2]{};
  bool nothing[2]{};
  BlockedThread one([&] { refused[0] = !full.push(2); });
  BlockedThread two([&] { refused[1] = !full.push(3); });
  BlockedThread three([&] { nothing[0] = !empty.pop(); });
  BlockedThread four([&] { nothing[1] = !empty.pop(); });
  for (auto* thread : {&one, &two, &three, &four}) thread->wait_until_asleep();
  full.stop();
  empty.stop();
  for (auto* thread : {&one, &two, &three, &four}) thread->join();
  EXPECT_TRUE(refused[0] && refused[1]);
  EXPECT_TRUE(nothing[0] && nothing[1]);
}

TEST(BoundedQueue, FailWakesAllOnBothSides) {
  BoundedQueue<int> full(1);
  BoundedQueue<int> empty(1);
  EXPECT_TRUE(full.push(1));
  bool refused[2]{};
  std::string thrown[2];
  BlockedThread one([&] { refused[0] = !full.push(2); });
  BlockedThread two([&] { refused[1] = !full.push(3); });
  BlockedThread three([&] { thrown[0] = thrown_by([&] { static_cast<void>(empty.pop()); }); });
  BlockedThread four([&] { thrown[1] = thrown_by([&] { static_cast<void>(empty.pop()); }); });
  for (auto* thread : {&one, &two, &three, &four}) thread->wait_until_asleep();
  full.fail(cause());
  empty.fail(cause());
  for (auto* thread : {&one, &two, &three, &four}) thread->join();
  EXPECT_TRUE(refused[0] && refused[1]);
  EXPECT_EQ(thrown[0], "the disk broke");
  EXPECT_EQ(thrown[1], "the disk broke");
}

TEST(BoundedQueue, TheLastFinishWakesAProducerThatStillPushes) {
  BoundedQueue<int> queue(1);
  EXPECT_TRUE(queue.push(1));
  bool caught = false;
  BlockedThread producer([&] {
    try {
      static_cast<void>(queue.push(2));
    } catch (const InternalError&) {
      caught = true;
    }
  });
  producer.wait_until_asleep();
  queue.finish();
  producer.join();
  EXPECT_TRUE(caught);
  EXPECT_EQ(queue.pop(), 1);
}

TEST(BoundedQueue, ReportsItsDepthOverTime) {
  test::FakeClock clock;
  BoundedQueue<int> queue(4, /*producers=*/1, clock);
  clock.advance(1s);  // empty
  EXPECT_TRUE(queue.push(1));
  EXPECT_TRUE(queue.push(2));
  clock.advance(2s);  // two
  EXPECT_EQ(queue.pop(), 1);
  clock.advance(1s);  // one
  const auto depth = queue.depth();
  EXPECT_EQ(depth.current, 1u);
  EXPECT_EQ(depth.highest, 2u);
  EXPECT_EQ(depth.empty, 1s);
  EXPECT_DOUBLE_EQ(depth.mean(), 5.0 / 4.0);
}

TEST(BoundedQueue, WithoutRoomOrProducersIsABug) {
  EXPECT_THROW(BoundedQueue<int>(0), InternalError);
  EXPECT_THROW(BoundedQueue<int>(1, 0), InternalError);
}

}  // namespace
}  // namespace myxtts::bounded_queue_test
