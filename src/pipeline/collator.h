// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bounded_queue.h"
#include "base/clock.h"
#include "config/model.h"
#include "data/batches/sound_window.h"
#include "model/gpt_rows.h"
#include "pipeline/batch_source.h"
#include "pipeline/batcher.h"
#include "pipeline/host_batch.h"
#include "pipeline/pipeline_options.h"

namespace myxtts {

// Note [Steps of several batches]
// The batches of an epoch are taken N by N, by their position: a step ends with its N-th batch or
// with the epoch. With several ranks a step is N batches of each of them. Gradients of a step's
// batches are added up, over batches and over ranks, so that each batch's loss has to be divided by
// the targets of the whole step; then their sum is the mean that one large batch would have. Those
// targets follow from the plan, the index and the prompts, all of which are functions of seed,
// epoch and clip, and every rank knows every rank's share: nothing has to be read ahead or asked.
//
// A clip that turns out bad loses its row. Where a step is one batch its targets are not counted
// either. Where a step is several batches the first one goes to the model before the last one was
// read, and a rank does not read what others do; so the clip keeps its place in the count, as if
// its loss were 0, whichever batch it is in. Both depend on the corpus alone: a run that is resumed
// counts the same.
//
// One thread.
class StepTargets {
 public:
  // The source outlives it.
  StepTargets(const BatchSource& source, const PipelineOptions& options);

  // One batch a step, on one rank: it counts its own targets.
  bool are_single_batches() const { return options_.batches_a_step == 1 && source_.ranks() == 1; }

  // Whether this batch is the last one of its step.
  bool ends_step(DataPosition position) const;

  // Of all batches of this one's step, on all ranks, as they are planned.
  TargetCounts planned(DataPosition position);

 private:
  DataPosition first_of_step(DataPosition position) const;
  TargetCounts of_batch(const PlannedBatch& planned) const;

  const BatchSource& source_;
  const PipelineOptions options_;

  std::optional<std::pair<DataPosition, TargetCounts>> known_;  // the step asked for last
};

// A batch whose arrays are known but which has no block of memory yet.
struct LaidOutBatch : Batch<VectorOf> {
  std::vector<HostClip> host_clips = {};  // as in HostBatch
  std::int64_t sample_count = 0;          // of the sound that it takes along, which is not in here

  std::size_t block_bytes() const;
};

// The rows of a batch from its clips' text, lengths and known codes, and where windows are cut.
LaidOutBatch lay_out(const BatchSource& source, const PipelineOptions& options,
                     const LoadedBatch& loaded);

// Copies rows and sound into `block`, which has block_bytes(), and gives the finished batch.
HostBatch write_into(StagingPool::Block block, LaidOutBatch laid_out, const LoadedBatch& loaded);

// Lays a batch's clips out as rows and writes rows and sound into a block of staging memory, ready
// to be copied to the data device. The fourth stage and the last one on the host; runs in a thread
// of its own, which is also the one that waits until a GPU has read a block that it wants to use
// again.
//
// Everything it is given outlives it.
class Collator {
 public:
  Collator(const BatchSource& source, const PipelineOptions& options,
           BoundedQueue<LoadedBatch>& input, StagingPool& blocks);

  // Works until the last batch or until it is stopped. Never throws: a failure goes to whoever
  // takes from the output.
  void run(BoundedQueue<HostBatch>& output);

  LoadReading load() const { return meter_.read(); }

 private:
  void work(BoundedQueue<HostBatch>& output);
  void address(BatchInfo& batch) const;
  void set_step(LaidOutBatch& batch);

  const BatchSource& source_;
  const PipelineOptions options_;
  StepTargets steps_;
  BoundedQueue<LoadedBatch>& input_;
  StagingPool& blocks_;
  LoadMeter meter_;
};

}  // namespace myxtts
