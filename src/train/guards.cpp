// SPDX-License-Identifier: Apache-2.0
#include "train/guards.h"

#include <algorithm>
#include <cmath>

namespace myxtts {
namespace {

// Of a new loss in the running mean: about the last fifty steps count.
constexpr double kNewShare = 0.02;

// A spike counts as the least that would have been one, or a single loss of 1e30 would hide all
// that follow.
void add_to_mean(double loss, double factor, double& mean) {
  mean = mean == 0 ? loss : mean + kNewShare * (std::min(loss, factor * mean) - mean);
}

}  // namespace

StepVerdict judge(double spike_factor, const StepNumbers& numbers, TrainingState& state) {
  if (numbers.skipped) {
    ++state.skipped_steps;
    // A finite loss whose gradient overflowed by the scale is how fp16 finds its scale.
    if (std::isfinite(numbers.loss) && numbers.loss_scale > 1) return StepVerdict::Rescaled;
    ++state.bad_steps;
    return StepVerdict::Bad;
  }
  state.bad_steps = 0;
  const bool spike = state.mean_loss > 0 && numbers.loss > spike_factor * state.mean_loss;
  add_to_mean(numbers.loss, spike_factor, state.mean_loss);
  return spike ? StepVerdict::Spike : StepVerdict::Fine;
}

bool too_many_bad_steps(std::int64_t most, const TrainingState& state) {
  return state.bad_steps >= most;
}

bool judge_evaluation(double loss, TrainingState& state) {
  const bool finite = std::isfinite(loss);
  state.validation_loss = finite ? std::optional(loss) : std::nullopt;
  const bool best = finite && (!state.best_validation_loss || loss < *state.best_validation_loss);
  if (best) state.best_validation_loss = loss;
  state.evaluations_since_best = best ? 0 : state.evaluations_since_best + 1;
  return best;
}

bool stops_early(const std::optional<std::int64_t>& patience, const TrainingState& state) {
  return patience && state.evaluations_since_best >= *patience;
}

}  // namespace myxtts
