// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "config/run_config.h"
#include "device/plan/device_plan.h"
#include "device/role_device.h"
#include "parallel/rank_team.h"
#include "train/step/part_training.h"

namespace myxtts {

class BatchPlan;
struct OpenModel;
struct WindowPlan;

// What the training of a part of the model is made from. All of it outlives the training.
struct TrainingInputs {
  const RunConfig& config;
  const DevicePlan& plan;
  const OpenModel& model;
  const BatchPlan& batches;
  const WindowPlan& windows;
  std::int64_t speakers = 0;  // of the corpus
  RoleDevice& device;
  RankTeam* team = &RankTeam::alone();
  std::function<void()> poll = {};  // StepSettings::poll
};

// The training of --stage, on the model device. Records graphs where those are used, with progress.
// Throws ConfigError for a setting that the part cannot have, DeviceError when memory does not
// suffice.
std::unique_ptr<PartTraining> make_training(const TrainingInputs& inputs);

// The settings that all parts share; each decided, nothing is "auto".
StepSettings step_settings(const TrainingInputs& inputs);
// The same for a part that bf16 is too coarse for, which is what the plan takes for the GPT where
// nothing was asked for.
StepSettings finer_step_settings(const TrainingInputs& inputs);

// Whether steps are recorded as graphs.
bool uses_graphs(const RunConfig& config, const DevicePlan& plan);

}  // namespace myxtts
