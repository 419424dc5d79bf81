// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "data/batches/device_batch.h"
#include "run/checkpoint_saver.h"
#include "run/training_state.h"
#include "train/observer.h"
#include "train/schedule.h"
#include "train/step/stage_training.h"

namespace myxtts {

// Means over all that was measured on, however it lay in batches.
struct ValidationLosses {
  std::vector<double> losses = {};  // as loss_names() calls them
  double total = 0;                 // what training would weigh them to
  std::int64_t clips = 0;
};

// Sums a CPU tensor over all ranks, in place; nothing where there is one.
using SumOverRanks = std::function<void(const at::Tensor&)>;

// Measures on the batches that `next` gives until it gives null. The sums stay on the device, in
// double, until the last batch is queued; then it waits. Every rank measures on its own share, and
// all get the same. Throws DataError when there was no target.
ValidationLosses measure(StageTraining& training, const std::function<DeviceBatch*()>& next,
                         const SumOverRanks& sum = {});

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
// step() never waits for the device; observers hear of a step once the device has finished it. Any
// method that hears of steps throws DataError once too many in a row were not finite.
//
// The trainer's thread only. Training and observers outlive it.
class Trainer {
 public:
  // `start` is that of the checkpoint that `training` was restored from.
  Trainer(StageTraining& training, const TrainerSettings& settings,
          const TrainingState& start = {});
  ~Trainer();

  void observe(TrainingObserver& observer);

  void step(DeviceBatch& batch);

  // No batch waits for its update.
  bool between_steps() const;
  // The last step is queued, schedule.most_seconds are over, or early stopping says so.
  bool done() const;

  // Measures on the batches that `next` gives until it gives null, tells the observers, and keeps
  // the best. Changes nothing that training computes with. Waits for the device. Throws DataError
  // when there is nothing to measure on.
  EvaluationReport evaluate(const std::function<DeviceBatch*()>& next);

  // Hears of every queued step. Waits for the device.
  void finish();

  // Of the last update. Waits for nothing: counters lag by what the device has not finished, so
  // call finish() first where they matter.
  TrainingState state() const;

  // The same with all tensors. Calls finish(): what a checkpoint counts is exact. Batches that wait
  // for their update are neither in it nor in its position, so a resumed run takes them again.
  CheckpointContents contents();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myxtts
