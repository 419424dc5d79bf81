// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "config/run_config.h"
#include "device/plan/device_plan.h"
#include "device/role_device.h"
#include "parallel/rank_team.h"
#include "session/feed/run_data.h"
#include "session/starting_model.h"
#include "train/parts.h"
#include "train/step/part_training.h"
#include "train/trainer.h"

namespace myxtts {

// What --stage-budget gives the stage in minutes, in seconds; nothing: no minutes.
std::optional<double> most_seconds(const TrainConfig& train);
// The data outlives the trainer.
TrainerSettings trainer_settings(const RunConfig& config, const RunData& data);

// What a stage's training is made of. All of it outlives the training.
struct PartFactoryInputs {
  const RunConfig& config;
  const DevicePlan& plan;
  const StartingModel& start;
  const RunData& data;
  RoleDevice& device;
  RankTeam* team = &RankTeam::alone();
  std::function<void()> poll = {};  // StepSettings::poll
};

// The training of --stage, on the model device. Records graphs where those are used, with progress.
// Throws ConfigError for a setting that the stage cannot have, DeviceError when memory does not
// suffice.
std::unique_ptr<PartTraining> make_part_training(const PartFactoryInputs& parts);

}  // namespace myxtts
