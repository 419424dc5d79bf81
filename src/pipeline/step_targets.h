// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "config/model.h"
#include "model/gpt_rows.h"
#include "pipeline/batch_source.h"

namespace myxtts {

// How the rows of batches are made, and how many batches make a step.
struct RowOptions {
  GptConfig gpt = {};
  MaskPromptSpan mask = MaskPromptSpan::Intended;
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

}  // namespace myxtts
