// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bounded_queue.h"
#include "base/clock.h"
#include "pipeline/batch_source.h"
#include "pipeline/batcher.h"

namespace myxtts {

// Note [Batches of several trainers]
// Where one pipeline feeds several ranks, each with a trainer of its own, the batches of all ranks
// at a position follow one another, rank after rank, and then those of the next position: batch n
// of the stages is number n / trainers of trainer n % trainers. Ranks wait for one another in every
// step, so none can be more than a step ahead, and this order starves no rank as long as a ring
// holds two batches.
//
// Walks through the plan: gives each batch its place in the window, asks the disk for what will be
// wanted, and hands the clips out one by one. The first stage; runs in a thread of its own.
//
// Everything it is given outlives it.
class Reader {
 public:
  // `trainers` is 1, for the source's own rank, or the number of its ranks.
  Reader(const BatchSource& source, BatchWindow& window, BoundedQueue<LoadJob>& jobs,
         std::int64_t trainers = 1);

  // Works from `position` up to `end` (nothing: for ever), or until it is stopped. Never
  // throws: a failure goes to whoever takes from the window.
  void run(DataPosition position, std::optional<DataPosition> end);

  LoadReading load() const { return meter_.read(); }
  std::int64_t clips() const { return clips_; }  // that were handed out

 private:
  void read(DataPosition position, std::optional<DataPosition> end);
  std::vector<PlannedBatch> batches_at(DataPosition position) const;
  bool make_place(std::int64_t number, const PlannedBatch& planned);
  bool hand_out(std::int64_t number, const PlannedBatch& planned);

  const BatchSource& source_;
  BatchWindow& window_;
  BoundedQueue<LoadJob>& jobs_;
  const std::int64_t trainers_;
  LoadMeter meter_;
  std::atomic<std::int64_t> clips_ = 0;
};

}  // namespace myxtts
