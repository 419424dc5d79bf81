// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "base/bounded_queue.h"
#include "base/meter.h"
#include "pipeline/batch_source.h"
#include "pipeline/batch_window.h"

namespace myxtts {

// A batch of the clips that are really there; may be empty.
struct SettledBatch {
  std::int64_t number = -1;
  PlannedBatch planned;
  std::vector<LoadedClip> clips;
};

// Takes complete batches in order and settles what became of their clips: a bad one is reported and
// its row left out, and all others of its batch go on. The third stage; runs in a thread of its
// own.
//
// Everything it is given outlives it.
class Batcher {
 public:
  // `after_batch` is called once for each batch, in the stage's thread.
  Batcher(BatchSource& source, BatchWindow& window, BoundedQueue<SettledBatch>& output,
          std::function<void()> after_batch);

  // Works until the last batch or until nobody wants more. Never throws: a failure goes to whoever
  // takes from the output.
  void run();

  LoadReading load() const { return meter_.read(); }

 private:
  void work();
  SettledBatch settle(DecodedBatch batch);

  BatchSource& source_;
  BatchWindow& window_;
  BoundedQueue<SettledBatch>& output_;
  const std::function<void()> after_batch_;
  LoadMeter meter_;
};

}  // namespace myxtts
