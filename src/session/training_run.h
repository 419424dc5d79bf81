// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "config/effective_config.h"
#include "device/plan/device_plan.h"
#include "parallel/rank_team.h"
#include "run/checkpoint_store.h"
#include "run/run_directory.h"
#include "run/training_state.h"
#include "train/observer.h"

namespace myxtts {

class RunInputs;

// When --max-minutes, counted from now, are over; nothing: they were not asked for.
std::optional<Clock::Time> deadline_after(const TrainConfig& train);

// Where a run stands among others.
struct RunFrame {
  std::string title = "Training";  // in front of its progress
  // Where it ends, to be continued; nothing: after --max-minutes, or by itself.
  std::optional<Clock::Time> deadline = {};
  // The other ranks that train the same model; it outlives the run. Every rank makes its own run,
  // from the same settings and checkpoint, and where it is a process in a directory of its own;
  // rank 0 alone writes checkpoints and metrics. Null: there are none.
  RankTeam* team = nullptr;
  // What the ranks of one process share, and this one's place among them; it outlives the run.
  // Null: the run makes its own.
  RunInputs* inputs = nullptr;
  std::size_t place = 0;
};

// A whole training run, joined: corpus ▶ pipeline ▶ trainer ▶ run directory.
//
//   TrainingRun run(settings, plan, directory, checkpoints, resumed);   reads, opens, places
//   run.start();                                                        the pipeline warms up
//   run.train();                                                        until the end or stop()
//
// Everything it is given outlives it. One thread, which becomes the trainer's; stop() is any
// other's. Errors of LibTorch come out as ours, and name the device.
class TrainingRun {
 public:
  // `plan` is open. Scans the corpora, learns a vocabulary and records graphs where that is needed;
  // shows progress. Throws ConfigError, DataError, DeviceError.
  TrainingRun(const EffectiveConfig& settings, const DevicePlan& plan, const RunDirectory& run,
              CheckpointStore& checkpoints, const std::optional<Checkpoint>& resumed,
              const RunFrame& frame = {});
  ~TrainingRun();

  // Besides those that the settings ask for. It outlives the run. Before train().
  void observe(TrainingObserver& observer);

  // Waits until batches are ready, or stop().
  void start();

  // False: stopped, or the minutes of --max-minutes are over. The last checkpoint is on the disk
  // when it returns, in either case. Throws DataError where that could not be written.
  bool train();

  // train() ended by --max-minutes: --resume goes on.
  bool out_of_time() const;

  // train() ends with the batch it is at, whatever it waits for.
  void stop();

  TrainingState state() const;
  std::string summary() const;  // several lines

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace myxtts
