// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "data/batches/device_batch.h"
#include "run/checkpoint_saver.h"
#include "run/training_state.h"
#include "train/guards.h"
#include "train/observer.h"
#include "train/schedule.h"
#include "train/step/part_training.h"

namespace myxtts {

// Sums a CPU tensor over all ranks, in place; nothing where there is one.
using SumOverRanks = std::function<void(const at::Tensor&)>;

struct TrainerSettings {
  ScheduleSettings schedule = {};
  std::int64_t last_step = 0;       // training ends there; the smaller of --max-steps and --epochs
  std::int64_t max_bad_steps = 20;  // in a row
  double spike_factor = 3.0;
  std::optional<std::int64_t> early_stopping = {};  // evaluations without a better loss

  // BatchPlan::next; where it is missing, an epoch never ends.
  std::function<DataPosition(DataPosition)> next_position = {};

  // For messages: a clip's id, and the step of the newest checkpoint that is no newer than a step.
  std::function<std::string(ClipNumber)> clip_name = {};
  std::function<std::optional<std::int64_t>(std::int64_t)> checkpoint_until = {};

  SumOverRanks sum_over_ranks = {};  // where the run has several

  // For TrainingState::seconds; it decides nothing but what schedule.most_seconds asks for.
  const Clock* clock = &system_clock();
};

// Trains batch after batch: accumulates, updates where a step is complete, watches the losses, and
// knows what a checkpoint must hold.
//
//   while (auto batch = pipeline.next()) {
//     trainer.step(**batch);
//     if (trainer.done()) break;
//   }
//
// step() never waits for the device; observers are called once the device has finished a step. Any
// method that reads the reports of steps throws DataError once too many in a row were not finite.
//
// The trainer's thread only. Training and observers outlive it.
class Trainer {
 public:
  // `start` is that of the checkpoint that `training` was restored from.
  Trainer(PartTraining& training, const TrainerSettings& settings, const TrainingState& start = {});

  void observe(TrainingObserver& observer);

  void step(DeviceBatch& batch);

  // No batch waits for its update.
  bool between_steps() const;
  // The last step is queued, schedule.most_seconds are over, or early stopping says so.
  bool done() const;

  // Measures on the batches that `next` gives until it gives null, calls the observers, and keeps
  // the best. Changes nothing that training computes with. Waits for the device. Throws DataError
  // when there is nothing to measure on.
  EvaluationReport evaluate(const std::function<DeviceBatch*()>& next);

  // Reads the reports of every queued step. Waits for the device.
  void finish();

  // Of the last update. Waits for nothing: counters lag by what the device has not finished, so
  // call finish() first where they matter.
  TrainingState state() const;

  // The same with all tensors. Calls finish(): what a checkpoint counts is exact. Batches that wait
  // for their update are neither in it nor in its position, so a resumed run takes them again.
  CheckpointContents contents();

 private:
  void take_into_step(const DeviceBatch& batch);
  void update(DataPosition last);
  DataPosition after(DataPosition position) const;
  void take_reports(const std::vector<StepNumbers>& finished);
  void report_step(const StepNumbers& numbers);
  void warn(const StepReport& report, StepVerdict verdict);
  std::string names_of(const std::vector<ClipNumber>& clips) const;
  [[noreturn]] void stop_at(std::int64_t step) const;
  double seconds() const;

  PartTraining& training_;
  const TrainerSettings settings_;
  TrainingState state_;
  const Clock::Time began_;
  std::vector<TrainingObserver*> observers_;
  StepReport open_{.batches = 0};  // the step whose batches are being added up
  std::deque<StepReport> queued_;  // oldest first: the device has not reported these yet
  bool in_spike_ = false;          // the last step was one, so that a series is logged once
};

}  // namespace myxtts
