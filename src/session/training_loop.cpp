// SPDX-License-Identifier: Apache-2.0
#include "session/training_loop.h"

#include <utility>

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/log.h"
#include "base/trace.h"
#include "session/ranks/rank_agreement.h"

namespace myxtts {
TrainingLoop::TrainingLoop(const LoopParts& parts, const TrainingState& start)
    : parts_(parts),
      saving_(parts.config.run),
      measuring_(parts.config.run),
      memory_(std::in_place, parts.devices, start.step),
      start_(start) {
  if (start.validation_loss) measured_ = start.step;
  saving_.saved(start.step);  // there is such a checkpoint, or nothing to keep
}

// A run that was stopped while it measured has a checkpoint of that step without the result.
bool TrainingLoop::measurement_is_missing() const {
  if (start_.step == 0 || start_.validation_loss) return false;
  return measuring_.due(start_.step, start_.begins_epoch());
}

TrainingLoop::Ending TrainingLoop::run() {
  try {
    return run_to_end();
  } catch (const LostRank&) {
    keep_what_was_done();
    throw;
  }
}

// The weights are those of the last step that all ranks made together, unless the device was in the
// middle of one. Where the averages lie in parts on the ranks, they cannot be gathered any more.
void TrainingLoop::keep_what_was_done() {
  const bool whole = parts_.settle();
  const TrainingState state = parts_.trainer.state();
  const bool in_parts = parts_.config.parallel.shard_optimiser;
  if (!parts_.team->world().leads() || in_parts || state.step == saving_.last()) return;
  if (!whole) {
    return log_warning("train",
                       "What was trained since step {} is lost: {} waited for the lost rank in the "
                       "middle of a step.",
                       saving_.last(), parts_.devices.model->name());
  }
  write(parts_.trainer.contents());
  if (parts_.saver.finish()) log_info("train", "what was done until step {} is saved", state.step);
}

TrainingLoop::Ending TrainingLoop::run_to_end() {
  bool whole = (!measurement_is_missing() || measure()) && train();
  parts_.trainer.finish();
  if (whole && measured_ != parts_.trainer.state().step) whole = measure();
  if (parts_.trainer.state().step != saving_.last()) save();
  if (whole) return Ending::Done;
  return out_of_time_ && !is_stopped() ? Ending::OutOfTime : Ending::Stopped;
}

namespace {

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace

// False: stopped, or out of time.
bool TrainingLoop::train() {
  if (parts_.trainer.done()) return !is_stopped();  // before it was continued
  while (auto slot = next_batch()) {
    const DataPosition position = (*slot)->position;
    if (!agreed_to_go_on(**slot) || !step(**slot)) return false;
    slot.reset();  // the feature stage may have it again
    if (gives_up()) return false;
    if (!parts_.trainer.between_steps()) continue;
    after_step(position);
    if (gives_up()) return false;
    if (parts_.trainer.done()) return true;
    if ((out_of_time_ = is_late())) return false;
  }
  return !is_stopped();
}

std::optional<BatchFeed::Slot> TrainingLoop::next_batch() {
  const auto began = std::chrono::steady_clock::now();
  auto slot = parts_.feed.next();
  times_.data += seconds_since(began);
  return slot;
}

// What is told of the step from here on is told of all ranks' batches. False: they end before it.
bool TrainingLoop::agreed_to_go_on(DeviceBatch& batch) {
  if (parts_.team == nullptr) return true;
  const BatchPlan& batches = parts_.data.training().batches;
  const bool is_late = parts_.deadline && system_clock().now() >= *parts_.deadline;
  agreed_ = agree(*parts_.team, {.stop = stopped(),
                                 .late = is_late,
                                 .save = saving_.due(parts_.trainer.state().step + 1),
                                 .audio_seconds = batch.audio_seconds,
                                 .times = std::exchange(times_, {})});
  batch.audio_seconds = agreed_.audio_seconds;
  batch.clips.clear();
  for (const PlannedBatch& planned : batches.batches_of_ranks(batch.position)) {
    batch.clips.insert(batch.clips.end(), planned.clips.begin(), planned.clips.end());
  }
  const std::string slow = stragglers_.add(agreed_.times);
  if (!slow.empty() && parts_.team->world().leads()) warnings_.warn("straggler", slow);
  return !agreed_.stop || !parts_.trainer.between_steps();
}

// Of several ranks, what one alone was told counts once all have heard of it.
bool TrainingLoop::is_stopped() const {
  return parts_.team == nullptr ? stopped() : agreed_.stop;
}

// In the middle of what all ranks do together, one alone cannot.
bool TrainingLoop::gives_up() const {
  return is_stopped() && (parts_.team == nullptr || parts_.trainer.between_steps());
}

bool TrainingLoop::is_late() const {
  if (parts_.team != nullptr) return agreed_.late;
  return parts_.deadline && system_clock().now() >= *parts_.deadline;
}

// False: given up.
bool TrainingLoop::step(DeviceBatch& batch) {
  const auto began = std::chrono::steady_clock::now();
  try {
    parts_.trainer.step(batch);
    times_.step += seconds_since(began) - parts_.waited_for_ranks();
    return true;
  } catch (const GivenUp&) {
    return false;
  }
}

void TrainingLoop::after_step(DataPosition position) {
  const std::int64_t step = parts_.trainer.state().step;
  const bool ends_epoch = parts_.data.training().batches.next(position).epoch != position.epoch;
  memory_->look(step);
  if (measuring_.due(step, ends_epoch) && !measure()) return;
  const bool due = parts_.team == nullptr ? saving_.due(step) : agreed_.save;
  if (due && saving_.last() != step) save();  // the best one is saved already
}

// False: stopped before its end.
bool TrainingLoop::measure() {
  if (parts_.data.validation() == nullptr) return true;
  const TraceScope trace("measure");
  const auto feed = parts_.validation_feed();
  const auto set_validation = [this](BatchFeed* now) {
    const std::lock_guard lock(mutex_);
    validation_ = now;
  };
  set_validation(feed.get());
  feed->start({});
  std::optional<BatchFeed::Slot> slot;
  const auto next = [&]() -> DeviceBatch* {
    slot.reset();
    slot = feed->next();
    // Half a measurement would be a wrong one.
    if (parts_.team == nullptr && stopped()) throw GivenUp();
    return slot ? &**slot : nullptr;
  };
  try {
    const EvaluationReport report = parts_.trainer.evaluate(next);
    measured_ = report.step;
    // Validation has buffers of its own, which come with the first measurement.
    if (!std::exchange(has_measured_, true)) memory_.emplace(parts_.devices, report.step);
    slot.reset();
    set_validation(nullptr);
    feed->finish();
    if (report.best && parts_.config.run.keep_best > 0) save();
    return !gives_up();
  } catch (const GivenUp&) {
    set_validation(nullptr);
    return false;
  } catch (...) {
    set_validation(nullptr);
    throw;
  }
}

void TrainingLoop::save() {
  const TraceScope trace("save");
  CheckpointContents contents = parts_.trainer.contents();  // together, where there are ranks
  if (parts_.team != nullptr) {
    require_equal_weights(*parts_.team, *parts_.devices.model, contents.weights);
  }
  saving_.saved(contents.state.step);
  if (parts_.team == nullptr || parts_.team->world().leads()) write(std::move(contents));
}

void TrainingLoop::write(CheckpointContents contents) {
  contents.state.metrics_position = parts_.metrics_position();
  contents.state.rest = parts_.data.training().batches.rest_from(contents.state.position);
  parts_.saver.save(contents);
}

// Tells everybody and waits for nobody: the last checkpoint is written while the stages finish the
// clips they are at. Other ranks hear of it before the next batch.
void TrainingLoop::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  if (parts_.team != nullptr) return;
  parts_.feed.close();
  if (validation_ != nullptr) validation_->close();
}

bool TrainingLoop::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

}  // namespace myxtts
