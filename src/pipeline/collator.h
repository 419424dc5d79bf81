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

namespace myxtts {

// How the rows of batches are made, and how many batches make a step.
struct RowOptions {
  GptConfig gpt = {};
  PromptMask mask = PromptMask::Clip;
  std::int64_t batches_a_step = 1;  // --grad-accum
  WindowPlan windows = {};          // of stages that train on sound
  std::int64_t trainers = 1;        // that batches go to in turn
};

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
  StepTargets(const BatchSource& source, const RowOptions& options);

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
  const RowOptions options_;

  struct Known {
    DataPosition first;
    TargetCounts counts;
  };
  std::optional<Known> known_;  // the step asked for last
};

// The windows of a batch as HostBatch has them; all empty where the plan is.
struct WindowArrays {
  std::vector<float> weights;
  std::vector<std::int64_t> clips;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> speakers;
};

// Of clips that are in `settled`, in the same order. A clip of a speaker that is not trained on
// counts for nothing in the speaker stage.
WindowArrays lay_out_windows(const BatchSource& source, const WindowPlan& plan,
                             const SettledBatch& settled, std::span<const HostClip> clips);

// A batch whose rows are known but which has no block of memory yet.
struct LaidOutBatch {
  HostBatch batch;  // everything but its arrays
  GptRows rows;
  std::vector<std::int64_t> code_tokens;  // these three as in Note [Unknown codes]
  std::vector<std::int64_t> code_targets;
  std::vector<std::int64_t> code_target_codes;
  std::vector<std::int64_t> noise_tokens;
  std::vector<std::int64_t> noise_ids;
  WindowArrays windows;
  std::int64_t samples = 0;  // that it takes along

  std::size_t block_bytes() const;
};

// The rows of a batch from its clips' text, lengths and known codes, and where windows are cut.
LaidOutBatch lay_out(const BatchSource& source, const GptConfig& gpt, PromptMask mask,
                     const SettledBatch& settled, const WindowPlan& windows = {});

// Copies rows and sound into `block`, which has block_bytes(), and gives the finished batch.
HostBatch write_into(StagingPool::Block block, LaidOutBatch laid_out, const SettledBatch& settled);

// An upper bound of block_bytes() for batches of these sizes without windows, with clips of at most
// this rate; 0 where the sizes leave it open.
std::size_t most_block_bytes(const GptConfig& gpt, const RowSizes& sizes, std::int64_t most_rate);

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
