// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/log.h"
#include "base/trace.h"
#include "train/guards.h"

namespace myxtts {
namespace {

std::vector<double> means_of(const at::Tensor& sums) {  // [2, losses] fp64 on the CPU
  const std::int64_t count = sums.size(1);
  const auto* sum = sums.const_data_ptr<double>();
  std::vector<double> means;
  for (std::int64_t loss = 0; loss < count; ++loss) {
    if (sum[count + loss] == 0) {
      throw DataError("The validation clips hold nothing to measure; name others with --val-data.");
    }
    means.push_back(sum[loss] / sum[count + loss]);
  }
  return means;
}

// The losses, their sum and the clips of the batches that `next` gives until it gives null. The
// sums stay on the device, in double, until the last batch is queued; then it waits. Every rank
// measures its own share, and all get the same. Throws DataError when there was no target.
EvaluationReport measure(PartTraining& training, const std::function<DeviceBatch*()>& next,
                         const SumOverRanks& sum) {
  RoleDevice& device = training.device();
  const auto scope = device.enter(device.stream());
  at::Tensor sums;  // [2, losses] fp64: sums, and what they are over
  std::int64_t clips = 0;
  while (DeviceBatch* batch = next()) {
    clips += std::ssize(batch->clips);
    const at::Tensor found = training.evaluate(*batch).to(at::kDouble);
    sums = sums.defined() ? sums + found : found;
  }
  if (!sums.defined()) throw DataError("There is no batch to measure on; give --val-data.");
  sums = sums.cpu().contiguous();
  if (sum) {
    sum(sums);
    const auto all = at::full({1}, clips, at::kLong);
    sum(all);
    clips = all.item<std::int64_t>();
  }
  EvaluationReport found{.step = training.step(), .losses = means_of(sums), .clips = clips};
  found.loss = training.total(found.losses);
  return found;
}

std::string in_words(double value) {
  if (std::isnan(value)) return "not a number";
  return std::isinf(value) ? "infinite" : fmt::format("{:.4g}", value);
}

// Whose gradients ended a run, as the end of a sentence.
std::string in_words(const std::vector<std::string>& overflowed) {
  constexpr std::size_t kNamed = 4;
  if (overflowed.empty()) return "";
  const std::span<const std::string> named(overflowed.data(), std::min(kNamed, overflowed.size()));
  const std::size_t more = overflowed.size() - named.size();
  return fmt::format(", in the last one the gradients of {}{}", fmt::join(named, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

void Trainer::take_into_step(const DeviceBatch& batch) {
  if (open_.batches == 0) open_.position = batch.position;
  ++open_.batches;
  open_.clips.insert(open_.clips.end(), batch.clips.begin(), batch.clips.end());
  open_.audio_seconds += batch.audio_seconds;
}

void Trainer::update(DataPosition last) {
  open_.learning_rate =
      learning_rate(settings_.schedule, training_.step(), last.epoch, state_.seconds + seconds());
  training_.update(open_.learning_rate);
  open_.numbers.step = training_.step();
  state_.step = training_.step();
  state_.position = after(last);
  state_.validation_loss.reset();  // it was that of other weights
  queued_.push_back(std::exchange(open_, StepReport{.batches = 0}));
}

DataPosition Trainer::after(DataPosition position) const {
  if (settings_.next_position) return settings_.next_position(position);
  return {position.epoch, position.step + 1};
}

void Trainer::take_reports(const std::vector<StepNumbers>& finished) {
  for (const StepNumbers& numbers : finished) report_step(numbers);
  if (!finished.empty() && too_many_bad_steps(settings_.max_bad_steps, state_)) {
    stop_at(finished.back().step);
  }
}

void Trainer::report_step(const StepNumbers& numbers) {
  MYXTTS_CHECK(!queued_.empty() && queued_.front().numbers.step == numbers.step,
               "the device reports step {}, which was not the next", numbers.step);
  StepReport report = std::move(queued_.front());
  queued_.pop_front();
  report.numbers = numbers;
  const StepVerdict verdict = judge(settings_.spike_factor, numbers, state_);
  report.spike = verdict == StepVerdict::Spike;
  warn(report, verdict);
  in_spike_ = report.spike;
  for (TrainingObserver* observer : observers_) observer->stepped(report);
}

void Trainer::warn(const StepReport& report, StepVerdict verdict) {
  const StepNumbers& numbers = report.numbers;
  if (verdict == StepVerdict::Bad) {
    log_warning("train",
                "Step {} was left out: its loss is {} and the length of its gradient {}. Its clips "
                "are {}.",
                numbers.step, in_words(numbers.loss), in_words(numbers.gradient_norm),
                names_of(report.clips));
  } else if (verdict == StepVerdict::Spike && !in_spike_) {
    log_warning("train",
                "The loss of step {} is {:.4g}, more than {} times its running mean (now {:.4g}). "
                "Its clips are {}.",
                numbers.step, numbers.loss, settings_.spike_factor, state_.mean_loss,
                names_of(report.clips));
  } else if (verdict == StepVerdict::Rescaled) {
    log_debug("train", "Step {} was left out: a loss scale of {} is too high for its gradient.",
              numbers.step, numbers.loss_scale);
  }
}

std::string Trainer::names_of(const std::vector<ClipNumber>& clips) const {
  std::vector<std::string> names;
  for (const ClipNumber clip : clips) {
    names.push_back(settings_.clip_name ? settings_.clip_name(clip) : std::to_string(clip));
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

void Trainer::stop_at(std::int64_t step) const {
  const auto before = settings_.checkpoint_until
                          ? settings_.checkpoint_until(step - state_.bad_steps)
                          : std::nullopt;
  const std::string where =
      before ? fmt::format(
                   "The last good checkpoint is that of step {0}: continue with --resume "
                   "{0}",
                   *before)
             : std::string("There is no checkpoint from before: start again");
  throw DataError(fmt::format(
      "Training stopped at step {}: {} steps in a row had a loss or a gradient that is "
      "not finite (--max-bad-steps {}){}. {}, with a smaller --lr or without the clips "
      "that are named above.",
      step, state_.bad_steps, settings_.max_bad_steps, in_words(training_.overflowed()), where));
}

double Trainer::seconds() const {
  return std::chrono::duration<double>(settings_.clock->now() - began_).count();
}

Trainer::Trainer(PartTraining& training, const TrainerSettings& settings,
                 const TrainingState& start)
    : training_(training), settings_(settings), state_(start), began_(settings.clock->now()) {
  MYXTTS_CHECK(training.step() == start.step, "the weights are of step {}, the state of step {}",
               training.step(), start.step);
}

void Trainer::observe(TrainingObserver& observer) {
  observers_.push_back(&observer);
}

void Trainer::step(DeviceBatch& batch) {
  const TraceScope trace("step", batch.number);
  take_into_step(batch);
  training_.accumulate(batch);
  if (batch.ends_step) update(batch.position);
  take_reports(training_.take_numbers());
}

bool Trainer::between_steps() const {
  return open_.batches == 0;
}

bool Trainer::done() const {
  const auto& most_seconds = settings_.schedule.most_seconds;
  return training_.step() >= settings_.last_step ||
         (most_seconds && state_.seconds + seconds() >= *most_seconds) ||
         stops_early(settings_.early_stopping, state_);
}

EvaluationReport Trainer::evaluate(const std::function<DeviceBatch*()>& next) {
  finish();  // observers are called for the steps before
  const Clock& clock = *settings_.clock;
  const auto began = clock.now();
  EvaluationReport report = measure(training_, next, settings_.sum_over_ranks);
  report.seconds = std::chrono::duration<double>(clock.now() - began).count();
  report.best = judge_evaluation(report.loss, state_);
  for (TrainingObserver* observer : observers_) observer->evaluated(report);
  return report;
}

void Trainer::finish() {
  take_reports(training_.finish_numbers());
}

TrainingState Trainer::state() const {
  TrainingState state = state_;
  state.seconds += seconds();
  return state;
}

CheckpointContents Trainer::contents() {
  finish();
  return {.state = state(), .weights = training_.weights(), .optimiser = training_.optimiser()};
}

}  // namespace myxtts
