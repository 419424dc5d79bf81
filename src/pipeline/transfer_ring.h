// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace myxtts {

// The batches in flight between the data device and the model device.
//
//   free ──claim()──▶ being filled ──publish()──▶ ready ──take()──▶ in use ──~Slot()──▶ free
//        └── transfer thread ──────────────────┘       └── training loop ──────────┘
//
// Three slots let the copy of batch n+1 run while the model works on batch n, with one to spare for
// a slow step on either side.
//
// The ring orders host threads only, and never waits for a GPU. Whether a device has finished with
// a slot follows from the events inside the batch: see data/batches/device_batch.h.
//
// One producer thread, one consumer thread; stop() and fail() from any. The ring outlives every
// Slot it handed out.
template <typename Batch>
class TransferRing {
 public:
  class Slot;

  // Takes the batches as they are: one slot each.
  explicit TransferRing(std::vector<Batch> batches, const Clock& clock = system_clock())
      : batches_(std::move(batches)), meter_(clock) {
    MYXTTS_CHECK(batches_.size() >= 2, "a transfer ring of {} slots cannot overlap anything",
                 batches_.size());
    for (std::size_t index = 0; index < batches_.size(); ++index) free_.push_back(index);
  }

  // Producer. Waits for a free slot, the one that was given back first; nothing comes back once the
  // consumer called stop().
  [[nodiscard]] std::optional<Slot> claim() {
    std::unique_lock lock(mutex_);
    slot_freed_.wait(lock, [this] { return stopped_ || !free_.empty(); });
    if (stopped_) return std::nullopt;
    const std::size_t index = free_.front();
    free_.pop_front();
    return Slot(*this, index);
  }

  // Producer. Hands a filled slot to the consumer, in order; after stop() it goes back unread.
  void publish(Slot slot) {
    const std::lock_guard lock(mutex_);
    MYXTTS_CHECK(!finished_, "a batch was published after the last one");
    ready_.push_back(slot.index_);
    slot.ring_ = nullptr;
    meter_.set(ready_.size());
    slot_ready_.notify_one();
  }

  // Producer. No more batches: the consumer drains what is ready, then gets nothing.
  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    wake_all();
  }

  // The consumer's next take() throws `cause`, before anything that is ready. A failure is never an
  // early end. The first one is kept.
  void fail(std::exception_ptr cause) {
    MYXTTS_CHECK(cause != nullptr, "a failure needs a cause");
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(cause);
    wake_all();
  }

  // Consumer. Waits for the oldest ready slot; nothing comes back after the last one or after
  // stop(). Throws what the producer failed with.
  [[nodiscard]] std::optional<Slot> take() {
    std::unique_lock lock(mutex_);
    slot_ready_.wait(lock, [this] { return failure_ || finished_ || stopped_ || !ready_.empty(); });
    if (failure_) std::rethrow_exception(failure_);
    if (stopped_ || ready_.empty()) return std::nullopt;
    const std::size_t index = ready_.front();
    ready_.pop_front();
    meter_.set(ready_.size());
    return Slot(*this, index);
  }

  // Consumer. Waits until every slot is ready, or no more will be. Throws what the producer failed
  // with.
  void wait_until_full() {
    std::unique_lock lock(mutex_);
    slot_ready_.wait(lock, [this] {
      return failure_ || finished_ || stopped_ || ready_.size() == batches_.size();
    });
    if (failure_) std::rethrow_exception(failure_);
  }

  // Consumer. Waits until that time or until stop().
  void wait_until(Clock::Time time) {
    std::unique_lock lock(mutex_);
    slot_ready_.wait_until(lock, time, [this] { return stopped_; });
  }

  // Leaves early: claim() and take() give nothing, now and later.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    wake_all();
  }

  bool stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

  std::size_t size() const { return batches_.size(); }

  // How many slots are and were ready. Any thread.
  [[nodiscard]] DepthReading depth() const {
    const std::lock_guard lock(mutex_);
    return meter_.read();
  }

 private:
  void give_back(std::size_t index) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(index);
    slot_freed_.notify_one();
  }

  void wake_all() {
    slot_freed_.notify_all();
    slot_ready_.notify_all();
  }

  // Fixed after construction. A batch belongs to whoever holds its Slot.
  std::vector<Batch> batches_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable slot_freed_;
  std::condition_variable slot_ready_;
  std::deque<std::size_t> free_;
  std::deque<std::size_t> ready_;
  DepthMeter meter_;
  bool finished_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;
};

// The right to read and write one batch. Goes back to the ring when it is destroyed.
template <typename Batch>
class TransferRing<Batch>::Slot {
 public:
  Slot(Slot&& other) noexcept : ring_(std::exchange(other.ring_, nullptr)), index_(other.index_) {}
  Slot& operator=(Slot&& other) noexcept {
    std::swap(ring_, other.ring_);
    std::swap(index_, other.index_);
    return *this;
  }
  ~Slot() {
    if (ring_ != nullptr) ring_->give_back(index_);
  }

  Batch& operator*() const { return ring_->batches_[index_]; }
  Batch* operator->() const { return &ring_->batches_[index_]; }

 private:
  friend class TransferRing;
  Slot(TransferRing& ring, std::size_t index) : ring_(&ring), index_(index) {}

  TransferRing* ring_;  // null once moved from or published
  std::size_t index_;
};

}  // namespace myxtts
