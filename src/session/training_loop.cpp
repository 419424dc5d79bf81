// SPDX-License-Identifier: Apache-2.0
#include "session/training_loop.h"

#include <utility>

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/log.h"
#include "base/trace.h"
#include "session/ranks/rank_agreement.h"

namespace myxtts {
namespace {

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Of the batches that all ranks have there.
std::vector<ClipNumber> clips_of_ranks(const RunData& data, DataPosition position) {
  std::vector<ClipNumber> clips;
  for (const PlannedBatch& planned : data.training().batches.batches_of_ranks(position)) {
    clips.insert(clips.end(), planned.clips.begin(), planned.clips.end());
  }
  return clips;
}

}  // namespace

TrainingLoop::TrainingLoop(WiredTraining& parts, BatchFeed& feed,
                           std::optional<Clock::Time> deadline,
                           std::function<std::uint64_t()> metrics_position)
    : parts_(parts),
      feed_(feed),
      deadline_(deadline),
      metrics_position_(std::move(metrics_position)),
      saving_(parts.config().run),
      eval_steps_(eval_steps_of(parts.config(), parts.data.steps_of_run())) {
  watch_memory(parts.state.step);
  if (parts.state.validation_loss) validated_ = parts.state.step;
  saving_.saved(parts.state.step);  // there is such a checkpoint, or nothing to keep
}

void TrainingLoop::watch_memory(std::int64_t first_step) {
  data_memory_.emplace(*parts_.devices.data, "the feature stage", first_step);
  model_memory_.emplace(*parts_.devices.model, "training", first_step);
}

// A run that was stopped while it validated has a checkpoint of that step without the result.
bool TrainingLoop::validation_is_missing() const {
  const TrainingState& start = parts_.state;
  if (start.step == 0 || start.validation_loss) return false;
  return validation_is_due(eval_steps_, start.step, start.begins_epoch());
}

Ending TrainingLoop::run() {
  try {
    return run_to_end();
  } catch (const LostRank&) {
    save_what_was_done();
    throw;
  }
}

// The weights are those of the last step that all ranks made together, unless the device was in the
// middle of one. Where the averages lie in parts on the ranks, they cannot be gathered any more.
void TrainingLoop::save_what_was_done() {
  const bool whole = parts_.training->finish_queued();
  const TrainingState state = parts_.trainer.state();
  const bool in_parts = parts_.config().parallel.shard_optimiser;
  if (!parts_.leads() || in_parts || state.step == saving_.last()) return;
  if (!whole) {
    return log_warning("train",
                       "What was trained since step {} is lost: {} waited for the lost rank in the "
                       "middle of a step.",
                       saving_.last(), parts_.devices.model->name());
  }
  write(parts_.trainer.contents());
  if (parts_.saver.finish()) log_info("train", "what was done until step {} is saved", state.step);
}

Ending TrainingLoop::run_to_end() {
  bool whole = (!validation_is_missing() || validate()) && train();
  parts_.trainer.finish();
  if (whole && validated_ != parts_.trainer.state().step) whole = validate();
  if (parts_.trainer.state().step != saving_.last()) save();
  if (whole) return Ending::Done;
  return out_of_time_ && !is_stopped() ? Ending::OutOfTime : Ending::Stopped;
}

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
  auto slot = feed_.next();
  times_.data += seconds_since(began);
  return slot;
}

// What is reported of the step from here on is of all ranks' batches. False: they end before it.
bool TrainingLoop::agreed_to_go_on(DeviceBatch& batch) {
  agreed_ = agree(parts_.team, {.stop = was_told_to_stop(),
                                .late = deadline_is_over(),
                                .save = saving_.due(parts_.trainer.state().step + 1),
                                .audio_seconds = batch.audio_seconds,
                                .times = {std::exchange(times_, {})}});
  batch.audio_seconds = agreed_.audio_seconds;
  if (!parts_.is_only_rank()) batch.clips = clips_of_ranks(parts_.data, batch.position);
  const std::string slow = stragglers_.add(agreed_.times);
  if (!slow.empty() && parts_.leads()) warnings_.warn("straggler", slow);
  return !agreed_.stop || !parts_.trainer.between_steps();
}

// With other ranks, what one was told counts once all know of it.
bool TrainingLoop::stops_at_once() const {
  return parts_.is_only_rank() && was_told_to_stop();
}

bool TrainingLoop::is_stopped() const {
  return agreed_.stop || stops_at_once();
}

// In the middle of what all ranks do together, one alone cannot.
bool TrainingLoop::gives_up() const {
  return stops_at_once() || (agreed_.stop && parts_.trainer.between_steps());
}

bool TrainingLoop::deadline_is_over() const {
  return deadline_ && system_clock().now() >= *deadline_;
}

bool TrainingLoop::is_late() const {
  return agreed_.late || (parts_.is_only_rank() && deadline_is_over());
}

// False: aborted.
bool TrainingLoop::step(DeviceBatch& batch) {
  const auto began = std::chrono::steady_clock::now();
  try {
    parts_.step(batch);
    times_.step += seconds_since(began) - parts_.training->take_waited();
    return true;
  } catch (const StepAborted&) {
    return false;
  }
}

void TrainingLoop::after_step(DataPosition position) {
  const std::int64_t step = parts_.trainer.state().step;
  const bool ends_epoch = parts_.data.training().batches.next(position).epoch != position.epoch;
  data_memory_->look(step);
  model_memory_->look(step);
  if (validation_is_due(eval_steps_, step, ends_epoch) && !validate()) return;
  if (agreed_.save && saving_.last() != step) save();  // the best one is saved already
}

// False: stopped before its end.
bool TrainingLoop::validate() {
  if (parts_.data.validation() == nullptr) return true;
  const TraceScope trace("measure");
  const auto feed = parts_.inputs.feeds().validation(parts_.place);
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
    if (stops_at_once()) throw StepAborted();  // half a validation would be a wrong one
    return slot ? &**slot : nullptr;
  };
  try {
    const EvaluationReport report = parts_.trainer.evaluate(next);
    validated_ = report.step;
    // Validation has buffers of its own, which come with the first one.
    if (!std::exchange(has_validated_, true)) watch_memory(report.step);
    slot.reset();
    set_validation(nullptr);
    feed->finish();
    if (is_kept(report)) save();
    return !gives_up();
  } catch (const StepAborted&) {
    set_validation(nullptr);
    return false;
  } catch (...) {
    set_validation(nullptr);
    throw;
  }
}

// What is heard in its samples is known later, when there must be a checkpoint to choose.
bool TrainingLoop::is_kept(const EvaluationReport& report) const {
  const RunConfig& config = parts_.config();
  return config.run.keep_best > 0 && (report.best || best_by_of(config) == BestBy::Cer);
}

void TrainingLoop::save() {
  const TraceScope trace("save");
  CheckpointContents contents = parts_.trainer.contents();  // all ranks together
  require_equal_weights(parts_.team, *parts_.devices.model, contents.weights);
  saving_.saved(contents.state.step);
  if (parts_.leads()) write(std::move(contents));
}

void TrainingLoop::write(CheckpointContents contents) {
  contents.state.metrics_position = metrics_position_();
  contents.state.rest = parts_.data.training().batches.rest_from(contents.state.position);
  parts_.saver.save(contents);
}

// Waits for nobody: the last checkpoint is written while the stages finish the clips they are at.
// Other ranks hear of it before the next batch.
void TrainingLoop::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  if (!parts_.is_only_rank()) return;
  feed_.close();
  if (validation_ != nullptr) validation_->close();
}

bool TrainingLoop::was_told_to_stop() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

}  // namespace myxtts
