// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace myxtts {

// What one stage of work hands to the next, in order, at most `capacity` items at a time.
//
//   producers ──push()──▶ [ items ] ──pop()──▶ consumers
//             ──finish()─▶ no more data: consumers drain, then get nothing
//             ──fail()───▶ every pop() throws, from now on
//             ◀──stop()── consumers leave early: every push() is refused
//
// Any number of threads on both sides. Each of the `producers` calls finish() or fail() once, at
// its end; the data ends when all have finished, so that a stage with many workers needs no other
// count. finish(), fail() and stop() never wait, may be called at any time, and wake both sides.
//
// A failure is never an end of data. It goes before everything else: items still queued are
// dropped, and every consumer's pop() throws it, also after stop(), also when all data was already
// taken. The first failure is kept.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity, std::size_t producers = 1,
                        const Clock& clock = system_clock())
      : capacity_(capacity), meter_(clock), working_producers_(producers) {
    MYXTTS_CHECK(capacity >= 1, "a queue of {} items cannot pass anything on", capacity);
    MYXTTS_CHECK(producers >= 1, "a queue without a producer never ends");
  }

  // Producer. Waits for room. False: nobody wants the item any more, because the consumer stopped
  // or another producer failed; leave. Pushing after the last finish() is an InternalError.
  [[nodiscard]] bool push(T item) {
    std::unique_lock lock(mutex_);
    room_made_.wait(lock, [this] { return closed() || items_.size() < capacity_; });
    return append(item);
  }

  // Producer. Never waits: false also when there is no room now. `item` is moved from only when
  // true comes back.
  [[nodiscard]] bool try_push(T& item) {
    const std::lock_guard lock(mutex_);
    return (closed() || items_.size() < capacity_) && append(item);
  }

  // Producer, once each. Nothing more comes from this one.
  void finish() {
    const std::lock_guard lock(mutex_);
    MYXTTS_CHECK(working_producers_ > 0, "more producers finished than the queue has");
    if (--working_producers_ == 0) wake_all();
  }

  // Producer. From now on every pop() throws `cause`.
  void fail(std::exception_ptr cause) {
    MYXTTS_CHECK(cause != nullptr, "a failure needs a cause");
    std::deque<T> dropped;  // destroyed after the lock is gone
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(cause);
    drop_items(dropped);
    wake_all();
  }

  // Consumer. Waits for the oldest item; nothing comes back after the last one or after stop().
  // Throws what a producer failed with.
  [[nodiscard]] std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    item_came_.wait(lock, [this] { return closed() || !items_.empty(); });
    return take();
  }

  // Consumer. Never waits: nothing also when no item is there yet; ended() tells the difference.
  [[nodiscard]] std::optional<T> try_pop() {
    const std::lock_guard lock(mutex_);
    return take();
  }

  // Consumer. Leaves early: items still queued are dropped, and producers wake with false.
  void stop() {
    std::deque<T> dropped;  // destroyed after the lock is gone
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    drop_items(dropped);
    wake_all();
  }

  // True once pop() would give nothing without waiting. Throws what a producer failed with.
  [[nodiscard]] bool ended() const {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    return closed() && items_.empty();
  }

  // How full the queue is and was. Any thread.
  [[nodiscard]] DepthReading depth() const {
    const std::lock_guard lock(mutex_);
    return meter_.read();
  }

  std::size_t capacity() const { return capacity_; }

 private:
  bool closed() const { return stopped_ || failure_ || working_producers_ == 0; }

  bool append(T& item) {
    if (stopped_ || failure_) return false;
    MYXTTS_CHECK(working_producers_ > 0, "an item was pushed after the last producer finished");
    items_.push_back(std::move(item));
    meter_.set(items_.size());
    item_came_.notify_one();
    return true;
  }

  std::optional<T> take() {
    if (failure_) std::rethrow_exception(failure_);
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    meter_.set(items_.size());
    room_made_.notify_one();
    return item;
  }

  void drop_items(std::deque<T>& dropped) {
    dropped.swap(items_);
    meter_.set(0);
  }

  void wake_all() {
    room_made_.notify_all();
    item_came_.notify_all();
  }

  const std::size_t capacity_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable room_made_;
  std::condition_variable item_came_;
  std::deque<T> items_;  // empty once stopped or failed
  DepthMeter meter_;
  std::size_t working_producers_;
  bool stopped_ = false;
  std::exception_ptr failure_;
};

}  // namespace myxtts
