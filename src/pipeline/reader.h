// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/bounded_queue.h"
#include "base/meter.h"
#include "pipeline/batch_source.h"
#include "pipeline/batch_window.h"
#include "pipeline/clip_job.h"

namespace myxtts {

// Walks through the plan: gives each batch its place in the window, tells the disk what will be
// wanted, and hands the clips out one by one. The first stage; runs in a thread of its own.
//
// Everything it is given outlives it.
class Reader {
 public:
  Reader(const BatchSource& source, BatchWindow& window, BoundedQueue<ClipJob>& jobs);

  // Works from `position` up to `end` (nothing: for ever), or until nobody wants more. Never
  // throws: a failure goes to whoever takes from the window.
  void run(DataPosition position, std::optional<DataPosition> end);

  LoadReading load() const { return meter_.read(); }
  std::int64_t clips() const { return clips_; }  // that were handed out

 private:
  void read(DataPosition position, std::optional<DataPosition> end);
  bool hand_out(std::int64_t number, const PlannedBatch& planned);

  const BatchSource& source_;
  BatchWindow& window_;
  BoundedQueue<ClipJob>& jobs_;
  LoadMeter meter_;
  std::atomic<std::int64_t> clips_ = 0;
};

}  // namespace myxtts
