// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/bounded_queue.h"
#include "base/random.h"
#include "base/thread_group.h"

namespace myxtts::bounded_queue_stress_test {
namespace {

constexpr int kSchedules = 10'000;
// Played one after another between two meetings of all threads: on a machine with little to spare
// the meetings take longer than the play. Within a batch the threads drift apart, so one may come
// to a queue that others have long filled or left.
constexpr int kBatch = 20;
constexpr std::size_t kThreads = 7;  // up to three producers, three consumers, one who meddles

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Counts itself, so that an item lost inside the queue or given out twice shows.
struct Item {
  int producer;
  int number;
  std::shared_ptr<int> life;
};

// Random choices of one thread of one schedule.
class Choices {
 public:
  Choices(int schedule, int thread)
      : stream_(static_cast<std::uint64_t>(schedule), "thread-" + std::to_string(thread)) {}
  int upto(int highest) { return static_cast<int>(stream_.integer(next_++, 0, highest)); }
  bool one_in(int count) { return upto(count - 1) == 0; }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

// One random life of a queue: some producers, some consumers, and somebody who meddles.
class Schedule {
 public:
  explicit Schedule(int number)
      : number_(number),
        choices_(number, 0),
        capacity_(1 + choices_.upto(3)),
        producers_(static_cast<std::size_t>(1 + choices_.upto(2))),
        consumers_(static_cast<std::size_t>(1 + choices_.upto(2))),
        queue_(static_cast<std::size_t>(capacity_), producers_.size()) {
    const int kind = choices_.upto(5);  // half of the schedules end well
    producer_fails_ = kind == 3;
    consumer_stops_ = kind == 4;
    meddler_ = kind == 5 ? choices_.upto(2) : -1;
  }

  // What the thread of this number does in this schedule; some have nothing to do.
  void play(std::size_t thread) {
    if (thread < producers_.size()) produce(static_cast<int>(thread));
    if (thread >= 3 && thread - 3 < consumers_.size()) consume(static_cast<int>(thread) - 3);
    if (thread == 6 && meddler_ >= 0) meddle();
  }

  // After everybody has played.
  void check() {
    check_no_duplicate_and_in_order();
    const int given = total_accepted();
    const int taken = total_taken();
    EXPECT_TRUE(taken == given || failed_ || stopped_) << "items were lost";
    EXPECT_LE(taken, given);
    if (failed_) {
      EXPECT_THROW(static_cast<void>(queue_.pop()), Failure);
    } else {
      EXPECT_FALSE(queue_.pop().has_value());
    }
    for (const Consumer& consumer : consumers_) {
      EXPECT_TRUE(!consumer.threw || failed_);
      EXPECT_TRUE(consumer.threw || !producer_fails_) << "a failure looked like an end of data";
    }
    EXPECT_EQ(life_.use_count(), 1 + taken) << "the queue still holds items";
  }

 private:
  struct Producer {
    int accepted = 0;
  };
  struct Consumer {
    std::vector<Item> items;
    bool threw = false;
  };

  void fail() {
    failed_ = true;
    queue_.fail(std::make_exception_ptr(Failure("planted")));
  }
  void stop() {
    stopped_ = true;
    queue_.stop();
  }

  bool hand_over(Item item, Choices& choices) {
    if (choices.one_in(3)) {
      for (int i = 0; i < 5; ++i) {
        if (queue_.try_push(item)) return true;
        std::this_thread::yield();
      }
    }
    return queue_.push(std::move(item));
  }

  void produce(int id) {
    Choices choices(number_, 1 + id);
    Producer& self = producers_[static_cast<std::size_t>(id)];
    const int count = choices.upto(12);
    const int failing_item = producer_fails_ && id == 0 ? choices.upto(count) : -1;
    for (int n = 0; n <= count; ++n) {
      if (n == failing_item) return fail();
      if (n == count) break;
      if (choices.one_in(4)) std::this_thread::yield();
      if (!hand_over({id, n, life_}, choices)) {
        EXPECT_TRUE(stopped_ || failed_) << "refused without a reason";
        break;
      }
      ++self.accepted;
    }
    queue_.finish();
  }

  void consume(int id) {
    Choices choices(number_, 10 + id);
    Consumer& self = consumers_[static_cast<std::size_t>(id)];
    const int stop_after = consumer_stops_ && id == 0 ? choices.upto(8) : 1000;
    try {
      for (int n = 0; n < stop_after; ++n) {
        if (choices.one_in(4)) std::this_thread::yield();
        auto item = choices.one_in(3) ? queue_.try_pop() : std::nullopt;
        if (!item) item = queue_.pop();
        if (!item) return;
        self.items.push_back(std::move(*item));
      }
      stop();
    } catch (const Failure&) {
      self.threw = true;
    }
  }

  void meddle() {
    Choices choices(number_, 20);
    for (int i = choices.upto(30); i > 0; --i) std::this_thread::yield();
    EXPECT_LE(queue_.depth().highest, static_cast<std::size_t>(capacity_));
    if (meddler_ == 0 || meddler_ == 2) stop();
    if (meddler_ == 1 || meddler_ == 2) fail();
  }

  void check_no_duplicate_and_in_order() {
    std::vector<std::vector<bool>> seen(producers_.size(), std::vector<bool>(100));
    for (const Consumer& consumer : consumers_) {
      std::vector<int> last(producers_.size(), -1);
      for (const Item& item : consumer.items) {
        const auto producer = static_cast<std::size_t>(item.producer);
        EXPECT_LT(item.number, producers_[producer].accepted);
        EXPECT_FALSE(seen[producer][static_cast<std::size_t>(item.number)]) << "given out twice";
        seen[producer][static_cast<std::size_t>(item.number)] = true;
        EXPECT_GT(item.number, last[producer]) << "overtaken";
        last[producer] = item.number;
      }
    }
  }

  int total_accepted() const {
    int total = 0;
    for (const Producer& producer : producers_) total += producer.accepted;
    return total;
  }
  int total_taken() const {
    int total = 0;
    for (const Consumer& consumer : consumers_) total += static_cast<int>(consumer.items.size());
    return total;
  }

  const int number_;
  Choices choices_;
  const int capacity_;
  std::vector<Producer> producers_;
  std::vector<Consumer> consumers_;
  bool producer_fails_ = false;
  bool consumer_stops_ = false;
  int meddler_ = -1;  // 0 stops, 1 fails, 2 does both
  std::atomic<bool> failed_ = false;
  std::atomic<bool> stopped_ = false;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);
  BoundedQueue<Item> queue_;
};

std::array<char, 64> hang_message{};

// A batch that takes 60 s hangs. Says which one, so that it can be run alone.
void watch(int first) {
  std::snprintf(hang_message.data(), hang_message.size(), "a schedule of %d to %d hangs\n", first,
                first + kBatch - 1);
  signal(SIGALRM, [](int) {
    const auto size = std::strlen(hang_message.data());
    _exit(write(STDERR_FILENO, hang_message.data(), size) > 0 ? 1 : 2);
  });
  alarm(60);
}

TEST(BoundedQueueStress, TenThousandRandomSchedulesLoseNothingRepeatNothingAndEnd) {
  std::vector<std::unique_ptr<Schedule>> batch(kBatch);
  bool over = false;
  std::barrier turn(static_cast<std::ptrdiff_t>(kThreads + 1));
  ThreadGroup threads;  // one set for all schedules: starting threads would take most of the time
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.start("player", [&, thread] {
      while (true) {
        turn.arrive_and_wait();
        if (over) return;
        for (const auto& schedule : batch) schedule->play(thread);
        turn.arrive_and_wait();
      }
    });
  }
  for (int first = 0; first < kSchedules && !HasFailure(); first += kBatch) {
    watch(first);
    for (int i = 0; i < kBatch; ++i) {
      batch[static_cast<std::size_t>(i)] = std::make_unique<Schedule>(first + i);
    }
    turn.arrive_and_wait();
    turn.arrive_and_wait();
    for (int i = 0; i < kBatch; ++i) {
      batch[static_cast<std::size_t>(i)]->check();
      EXPECT_FALSE(HasFailure()) << "in schedule " << first + i;
    }
  }
  alarm(0);
  over = true;
  turn.arrive_and_wait();
}

}  // namespace
}  // namespace myxtts::bounded_queue_stress_test
