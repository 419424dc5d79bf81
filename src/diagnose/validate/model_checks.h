// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "config/model.h"
#include "data/device_batch.h"
#include "diagnose/validate/verdict.h"
#include "train/stage_training.h"

namespace myxtts {

// A network that is trained one step, and what is looked at on the way. The last three are the
// network's own unless a test puts something else in their place.
struct ModelTrial {
  StageTraining& training;
  DeviceBatch& batch;
  std::function<NamedTensors()> kept = [this] { return training.kept(); };
  std::function<void()> pass = [this] { training.accumulate(batch); };  // forward and backward
  std::function<StepNumbers()> update = [this] {
    training.update(1e-4);
    return training.finish_numbers().back();
  };

  ModelTrial(StageTraining& trained, DeviceBatch& on) : training(trained), batch(on) {}
  ModelTrial(const ModelTrial&) = delete;
  ModelTrial& operator=(const ModelTrial&) = delete;
};

// That every parameter and average, every activation and every gradient is on the model device, and
// that the step's numbers are finite and move the weights.
CheckResults check_model(const ModelTrial& trial);

// A batch of made-up clips of a few seconds, on the device.
DeviceBatch made_up_batch(const GptConfig& gpt, RoleDevice& device, std::int64_t clips);

}  // namespace myxtts
