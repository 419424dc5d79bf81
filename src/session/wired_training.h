// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>

#include <c10/util/Exception.h>

#include "parallel/rank_team.h"
#include "run/checkpoint_saver.h"
#include "session/run_inputs.h"
#include "train/parts.h"
#include "train/step/part_training.h"
#include "train/trainer.h"

namespace myxtts {

// What --stage-budget gives the part in minutes, in seconds; nothing: no minutes.
std::optional<double> most_seconds(const TrainConfig& train);
// The data outlives the trainer.
TrainerSettings trainer_settings(const RunConfig& config, const RunData& data);
// What make_training() takes, of one rank. All of it outlives the training.
TrainingInputs training_inputs(const RunConfig& config, const DevicePlan& plan,
                               const StartingModel& start, const RunData& data, RoleDevice& device);

// Thrown in the middle of a step or a validation that nobody waits for any more. A standard
// exception, since autograd hands on no others.
class StepAborted final : public std::exception {};

// A training, wired: what it trains from, the part of the model that is trained, the checkpoints
// and the trainer. TrainingRun trains it to its end; a trial (`profile`, --mode auto) takes single
// steps of it and measures them.
//
// The members are in the order in which they are made; what one uses stands above it. Everything it
// is given outlives it. The trainer's thread; `stopping` is any other's.
struct WiredTraining {
  // Places the model, records graphs where those are used, and restores the checkpoint that is
  // continued. Throws ConfigError, DataError, DeviceError.
  WiredTraining(RunInputs& given, CheckpointStore& checkpoints, RankTeam& ranks);
  WiredTraining(const WiredTraining&) = delete;
  WiredTraining& operator=(const WiredTraining&) = delete;

  const RunConfig& config() const { return inputs.settings().values; }
  bool leads() const { return team.world().leads(); }
  // It may end in the middle of a step, as no other rank waits for it.
  bool is_only_rank() const { return team.world().size == 1; }

  // One batch.
  void step(DeviceBatch& batch);

  // Calls `work`; an error of LibTorch in it becomes one of the model device, with advice where
  // memory did not suffice.
  template <typename Work>
  auto on_device(Work work) {
    try {
      return work();
    } catch (const c10::Error&) {
      rethrow_with_advice(*devices.model, plan, start.network.config, config().train);
    }
  }

  std::atomic<bool> stopping = false;  // a step on the CPU ends with StepAborted
  RunInputs& inputs;
  RankTeam& team;
  const std::size_t place;  // among the ranks of this process
  const DevicePlan& plan;
  const StartingModel& start;
  const RunData& data;
  const RunDevices& devices;
  const std::unique_ptr<PartTraining> training;
  CheckpointSaver saver;
  const TrainingState state;  // that training begins with
  Trainer trainer;
};

}  // namespace myxtts
