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

}  // namespace

ValidationLosses measure(StageTraining& training, const std::function<DeviceBatch*()>& next,
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
  ValidationLosses found{.losses = means_of(sums), .clips = clips};
  found.total = training.total(found.losses);
  return found;
}

namespace {

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

struct Trainer::State {
  State(StageTraining& stage, const TrainerSettings& chosen, const TrainingState& start)
      : training(stage), settings(chosen), state(start), began(chosen.clock->now()) {}

  void take_into_step(const DeviceBatch& batch);
  void update(DataPosition last);
  DataPosition after(DataPosition position) const;
  void hear(const std::vector<StepNumbers>& finished);
  void report(const StepNumbers& numbers);
  void warn(const StepReport& report, StepVerdict verdict);
  std::string names_of(const std::vector<ClipNumber>& clips) const;
  [[noreturn]] void stop_at(std::int64_t step) const;
  double seconds() const;

  GuardSettings guards() const { return {settings.max_bad_steps, settings.spike_factor}; }

  StageTraining& training;
  const TrainerSettings settings;
  TrainingState state;
  const Clock::Time began;
  std::vector<TrainingObserver*> observers;
  StepReport open{.batches = 0};  // the step whose batches are being added up
  std::deque<StepReport> queued;  // oldest first: the device has not told of these yet
  bool in_spike = false;          // the last step was one, so that a series is said once
};

void Trainer::State::take_into_step(const DeviceBatch& batch) {
  if (open.batches == 0) open.position = batch.position;
  ++open.batches;
  open.clips.insert(open.clips.end(), batch.clips.begin(), batch.clips.end());
  open.audio_seconds += batch.audio_seconds;
}

void Trainer::State::update(DataPosition last) {
  open.learning_rate =
      learning_rate(settings.schedule, training.step(), last.epoch, state.seconds + seconds());
  training.update(open.learning_rate);
  open.numbers.step = training.step();
  state.step = training.step();
  state.position = after(last);
  state.validation_loss.reset();  // it was that of other weights
  queued.push_back(std::exchange(open, StepReport{.batches = 0}));
}

DataPosition Trainer::State::after(DataPosition position) const {
  if (settings.next_position) return settings.next_position(position);
  return {position.epoch, position.step + 1};
}

void Trainer::State::hear(const std::vector<StepNumbers>& finished) {
  for (const StepNumbers& numbers : finished) report(numbers);
  if (!finished.empty() && too_many_bad_steps(guards(), state)) stop_at(finished.back().step);
}

void Trainer::State::report(const StepNumbers& numbers) {
  MYXTTS_CHECK(!queued.empty() && queued.front().numbers.step == numbers.step,
               "the device tells of step {}, which was not the next", numbers.step);
  StepReport told = std::move(queued.front());
  queued.pop_front();
  told.numbers = numbers;
  const StepVerdict verdict = judge(guards(), numbers, state);
  told.spike = verdict == StepVerdict::Spike;
  warn(told, verdict);
  in_spike = told.spike;
  for (TrainingObserver* observer : observers) observer->stepped(told);
}

void Trainer::State::warn(const StepReport& report, StepVerdict verdict) {
  const StepNumbers& numbers = report.numbers;
  if (verdict == StepVerdict::Bad) {
    log_warning("train",
                "Step {} was left out: its loss is {} and the length of its gradient {}. Its clips "
                "are {}.",
                numbers.step, in_words(numbers.loss), in_words(numbers.gradient_norm),
                names_of(report.clips));
  } else if (verdict == StepVerdict::Spike && !in_spike) {
    log_warning("train",
                "The loss of step {} is {:.4g}, more than {} times its running mean (now {:.4g}). "
                "Its clips are {}.",
                numbers.step, numbers.loss, settings.spike_factor, state.mean_loss,
                names_of(report.clips));
  } else if (verdict == StepVerdict::Rescaled) {
    log_debug("train", "Step {} was left out: a loss scale of {} is too high for its gradient.",
              numbers.step, numbers.loss_scale);
  }
}

std::string Trainer::State::names_of(const std::vector<ClipNumber>& clips) const {
  std::vector<std::string> names;
  for (const ClipNumber clip : clips) {
    names.push_back(settings.clip_name ? settings.clip_name(clip) : std::to_string(clip));
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

void Trainer::State::stop_at(std::int64_t step) const {
  const auto before =
      settings.checkpoint_until ? settings.checkpoint_until(step - state.bad_steps) : std::nullopt;
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
      step, state.bad_steps, settings.max_bad_steps, in_words(training.overflowed()), where));
}

double Trainer::State::seconds() const {
  return std::chrono::duration<double>(settings.clock->now() - began).count();
}

Trainer::Trainer(StageTraining& training, const TrainerSettings& settings,
                 const TrainingState& start)
    : state_(std::make_unique<State>(training, settings, start)) {
  MYXTTS_CHECK(training.step() == start.step, "the weights are of step {}, the state of step {}",
               training.step(), start.step);
}

Trainer::~Trainer() = default;

void Trainer::observe(TrainingObserver& observer) {
  state_->observers.push_back(&observer);
}

void Trainer::step(DeviceBatch& batch) {
  const TraceScope trace("step", batch.number);
  state_->take_into_step(batch);
  state_->training.accumulate(batch);
  if (batch.ends_step) state_->update(batch.position);
  state_->hear(state_->training.take_numbers());
}

bool Trainer::between_steps() const {
  return state_->open.batches == 0;
}

bool Trainer::done() const {
  const auto& most_seconds = state_->settings.schedule.most_seconds;
  return state_->training.step() >= state_->settings.last_step ||
         (most_seconds && state_->state.seconds + state_->seconds() >= *most_seconds) ||
         stops_early(state_->settings.early_stopping, state_->state);
}

EvaluationReport Trainer::evaluate(const std::function<DeviceBatch*()>& next) {
  finish();  // so that observers hear of the steps before
  const Clock& clock = *state_->settings.clock;
  const auto began = clock.now();
  const ValidationLosses losses = measure(state_->training, next, state_->settings.sum_over_ranks);
  EvaluationReport report{.step = state_->training.step(),
                          .losses = losses.losses,
                          .loss = losses.total,
                          .clips = losses.clips,
                          .seconds = std::chrono::duration<double>(clock.now() - began).count()};
  report.best = judge_evaluation(report.loss, state_->state);
  for (TrainingObserver* observer : state_->observers) observer->evaluated(report);
  return report;
}

void Trainer::finish() {
  state_->hear(state_->training.finish_numbers());
}

TrainingState Trainer::state() const {
  TrainingState state = state_->state;
  state.seconds += state_->seconds();
  return state;
}

CheckpointContents Trainer::contents() {
  finish();
  return {.state = state(),
          .weights = state_->training.weights(),
          .optimiser = state_->training.optimiser()};
}

}  // namespace myxtts
