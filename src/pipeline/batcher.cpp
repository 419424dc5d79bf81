// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batcher.h"

#include <utility>

#include "base/error.h"
#include "base/trace.h"

namespace myxtts {

BatchWindow::BatchWindow(std::size_t most_batches, std::size_t most_bytes, const Clock& clock)
    : most_bytes_(most_bytes), most_batches_(most_batches), meter_(clock) {
  MYXTTS_CHECK(most_batches >= 1, "a window of {} batches cannot pass anything on", most_batches);
}

bool BatchWindow::has_place(std::size_t bytes) const {
  if (entries_.empty()) return true;
  return entries_.size() < most_batches_ && bytes_ + bytes <= most_bytes_;
}

bool BatchWindow::reserve(std::int64_t number, const PlannedBatch& planned, std::size_t bytes) {
  std::unique_lock lock(mutex_);
  if (!closed() && !has_place(bytes) && entries_.size() < most_batches_) ++waits_for_bytes_;
  place_made_.wait(lock, [&] { return closed() || has_place(bytes); });
  if (closed()) return false;
  MYXTTS_CHECK(!finished_, "batch {} came after the last one", number);
  if (entries_.empty()) first_ = number;
  MYXTTS_CHECK(number == first_ + static_cast<std::int64_t>(entries_.size()),
               "batch {} came out of order", number);

  const std::size_t clips = planned.clips.size();
  entries_.push_back({.planned = planned,
                      .clips = std::vector<ClipResult>(clips),
                      .missing = clips,
                      .bytes = bytes});
  bytes_ += bytes;
  if (clips == 0) {
    ++complete_;
    note_depth();
    batch_completed_.notify_one();
  }
  return true;
}

void BatchWindow::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  batch_completed_.notify_all();
}

bool BatchWindow::put(std::int64_t number, std::size_t index, ClipResult clip) {
  const std::lock_guard lock(mutex_);
  if (closed()) return false;
  const auto place = static_cast<std::size_t>(number - first_);
  MYXTTS_CHECK(number >= first_ && place < entries_.size(), "batch {} has no place", number);
  Entry& entry = entries_[place];
  MYXTTS_CHECK(entry.missing > 0 && index < entry.clips.size(), "batch {} has no room for clip {}",
               number, index);
  entry.clips[index] = std::move(clip);
  if (--entry.missing == 0) {
    ++complete_;
    note_depth();
    if (place == 0) batch_completed_.notify_one();
  }
  return true;
}

void BatchWindow::fail(std::exception_ptr cause) {
  std::deque<Entry> dropped;  // destroyed after the lock is gone
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(cause);
  drop_entries(dropped);
  place_made_.notify_all();
  batch_completed_.notify_all();
}

LoadedBatch BatchWindow::loaded(std::int64_t number, Entry entry) {
  LoadedBatch batch{.number = number, .planned = std::move(entry.planned)};
  for (std::size_t index = 0; index < entry.clips.size(); ++index) {
    if (auto* skipped = std::get_if<Skipped>(&entry.clips[index])) {
      batch.skipped.emplace_back(batch.planned.clips[index], std::move(*skipped));
    } else {
      auto& clip = batch.clips.emplace_back(std::move(std::get<LoadedClip>(entry.clips[index])));
      if (!batch.planned.repeats.empty()) clip.repeat = batch.planned.repeats[index];
    }
  }
  return batch;
}

std::optional<LoadedBatch> BatchWindow::take() {
  std::unique_lock lock(mutex_);
  batch_completed_.wait(lock, [this] {
    if (closed()) return true;
    return entries_.empty() ? finished_ : entries_.front().missing == 0;
  });
  if (failure_) std::rethrow_exception(failure_);
  if (stopped_ || entries_.empty()) return std::nullopt;

  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  bytes_ -= entry.bytes;
  const std::int64_t number = first_++;
  --complete_;
  note_depth();
  place_made_.notify_one();
  lock.unlock();
  return loaded(number, std::move(entry));
}

void BatchWindow::stop() {
  std::deque<Entry> dropped;  // destroyed after the lock is gone
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  drop_entries(dropped);
  place_made_.notify_all();
  batch_completed_.notify_all();
}

void BatchWindow::set_batches(std::size_t batches) {
  const std::lock_guard lock(mutex_);
  most_batches_ = batches;
  place_made_.notify_one();
}

std::size_t BatchWindow::most_batches() const {
  const std::lock_guard lock(mutex_);
  return most_batches_;
}

DepthReading BatchWindow::depth() const {
  const std::lock_guard lock(mutex_);
  return meter_.read();
}

std::size_t BatchWindow::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::size_t BatchWindow::waits_for_bytes() const {
  const std::lock_guard lock(mutex_);
  return waits_for_bytes_;
}

void BatchWindow::note_depth() {
  meter_.set(complete_);
}

void BatchWindow::drop_entries(std::deque<Entry>& dropped) {
  dropped.swap(entries_);
  bytes_ = 0;
  complete_ = 0;
  note_depth();
}

Batcher::Batcher(BatchSource& source, BatchWindow& window, BoundedQueue<LoadedBatch>& output,
                 std::function<void()> after_batch)
    : source_(source), window_(window), output_(output), after_batch_(std::move(after_batch)) {}

void Batcher::run() {
  try {
    work();
    output_.finish();
  } catch (...) {
    output_.fail(std::current_exception());
  }
  window_.stop();  // after the last batch this changes nothing
}

void Batcher::work() {
  const auto busy = meter_.busy();
  while (true) {
    std::optional<LoadedBatch> batch;
    {
      const auto waiting = meter_.waiting_for_input();
      batch = window_.take();
    }
    if (!batch) return;
    {
      const TraceScope trace("settle", batch->number);
      for (const auto& [number, skipped] : batch->skipped) source_.leave_out(number, skipped);
    }
    {
      const auto waiting = meter_.waiting_for_output();
      if (!output_.push(std::move(*batch))) return;
    }
    after_batch_();
  }
}

}  // namespace myxtts
