// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "parallel/rank_team.h"
#include "run/checkpoint_store.h"
#include "run/training_state.h"
#include "session/run_inputs.h"
#include "session/run_record.h"
#include "session/run_report.h"
#include "session/training_loop.h"
#include "train/observer.h"

namespace myxtts {

struct RunOptions {
  std::string title = "Training";            // in front of its progress
  std::optional<Clock::Time> deadline = {};  // where it ends, to be continued
  std::string resume = {};                   // the command that continues it, for messages
  RunRecord* record = nullptr;               // of the rank that leads; null: nobody keeps one
};

// A whole training run of one rank: inputs ▶ pipeline ▶ trainer ▶ run directory.
//
//   RunInputs inputs(settings, {plan}, directory.path(), resumed);   reads and opens
//   TrainingRun run(inputs, checkpoints);                            places the model
//   run.start();                                                     the pipeline fills
//   run.train();                                                     until the end or stop()
//
// Where several ranks train one model, each has a run of its own, made from the same settings and
// checkpoint, and all are of one team; rank 0 alone writes checkpoints and metrics.
//
// Everything it is given outlives it. One thread, which becomes the trainer's; stop() is any
// other's. Errors of LibTorch come out as ours, and name the device.
class TrainingRun {
 public:
  // Records graphs where those are used; shows progress. Throws ConfigError, DataError,
  // DeviceError.
  TrainingRun(RunInputs& inputs, CheckpointStore& checkpoints, const RunOptions& options = {},
              RankTeam& team = RankTeam::alone());
  ~TrainingRun();

  // Besides those that the settings ask for. It outlives the run. Before train().
  void observe(TrainingObserver& observer);

  // Waits until batches are ready, or stop().
  void start();

  // The last checkpoint is on the disk when it returns, however it ends. Throws DataError where
  // that could not be written.
  Ending train();

  // train() ends with the batch it is at, whatever it waits for.
  void stop();

  TrainingState state() const;
  RunSummary summary() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myxtts
