// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "run/training_state.h"
#include "train/observer.h"

// What the losses say about a run. Everything remembered is in the TrainingState that a checkpoint
// keeps, so a resumed run judges as if it had not been interrupted; no clock is asked.

namespace myxtts {

enum class StepVerdict {
  Fine,
  Spike,     // the loss is far above its running mean; trained on all the same
  Bad,       // loss or gradient was not finite: left out
  Rescaled,  // left out too, but only because the loss scale of fp16 was too high for it
};

// Takes the next step into `state`. Steps come in order. A loss of more than `spike_factor` times
// its running mean is a spike.
StepVerdict judge(double spike_factor, const StepNumbers& numbers, TrainingState& state);

// `most`: in a row.
bool too_many_bad_steps(std::int64_t most, const TrainingState& state);

// Takes the loss of an evaluation into `state`; true: it is the best of the run. One that is not
// finite never is.
bool judge_evaluation(double loss, TrainingState& state);

// After `patience` evaluations without a better loss.
bool stops_early(const std::optional<std::int64_t>& patience, const TrainingState& state);

}  // namespace myxtts
