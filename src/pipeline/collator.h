// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/bounded_queue.h"
#include "base/meter.h"
#include "pipeline/batcher.h"
#include "pipeline/host_batch.h"
#include "pipeline/step_targets.h"

namespace myxtts {

// Lays a batch's clips out as rows and writes rows and sound into a block of staging memory, ready
// to be copied to the data device. The fourth stage and the last one on the host; runs in a thread
// of its own, which is also the one that waits until a GPU has read a block that it wants to use
// again.
//
// Everything it is given outlives it.
class Collator {
 public:
  Collator(const BatchSource& source, const RowOptions& options, BoundedQueue<SettledBatch>& input,
           StagingPool& blocks);

  // Works until the last batch or until nobody wants more. Never throws: a failure goes to whoever
  // takes from the output.
  void run(BoundedQueue<HostBatch>& output);

  LoadReading load() const { return meter_.read(); }

 private:
  void work(BoundedQueue<HostBatch>& output);
  void address(HostBatch& batch) const;
  void set_step(HostBatch& batch);

  const BatchSource& source_;
  const RowOptions options_;
  StepTargets steps_;
  BoundedQueue<SettledBatch>& input_;
  StagingPool& blocks_;
  LoadMeter meter_;
};

}  // namespace myxtts
