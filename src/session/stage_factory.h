// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "config/run_config.h"
#include "device/device_plan.h"
#include "device/role_device.h"
#include "parallel/rank_team.h"
#include "session/run_data.h"
#include "session/starting_model.h"
#include "train/stage_training.h"

namespace myxtts {

// What a stage's training is made of. All of it outlives the training.
struct StageParts {
  const RunConfig& config;
  const DevicePlan& plan;
  const StartingModel& start;
  const RunData& data;
  RoleDevice& device;
  RankTeam* team = nullptr;               // the other ranks, where there are some
  std::function<void()> on_the_way = {};  // called again and again in each pass on the CPU
};

// The training of --stage, on the model device. Records graphs where those are used, with progress.
// Throws ConfigError for a setting that the stage cannot have, DeviceError when memory does not
// suffice.
std::unique_ptr<StageTraining> make_stage_training(const StageParts& parts);

// Whether its steps are recorded as graphs.
bool uses_graphs(const RunConfig& config, const DevicePlan& plan);

}  // namespace myxtts
