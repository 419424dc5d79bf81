// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "config/model.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "diagnose/report/report.h"
#include "train/step/part_training.h"

namespace myxtts {

// A network that is trained one step, and the parts of the step that are checked. A test may
// replace the last three, which are the network's own.
struct ModelTrial {
  PartTraining& training;
  DeviceBatch& batch;
  std::function<NamedTensors()> kept = [this] { return training.kept(); };
  std::function<void()> pass = [this] { training.accumulate(batch); };  // forward and backward
  std::function<StepNumbers()> update = [this] {
    training.update(1e-4);
    return training.finish_numbers().back();
  };

  ModelTrial(PartTraining& trained, DeviceBatch& on) : training(trained), batch(on) {}
  ModelTrial(const ModelTrial&) = delete;
  ModelTrial& operator=(const ModelTrial&) = delete;
};

// That every parameter and average, every activation and every gradient is on the model device, and
// that the step's numbers are finite and move the weights.
Checks check_model(const ModelTrial& trial);

// A batch of made-up clips of a few seconds, on the device.
DeviceBatch made_up_batch(const GptConfig& gpt, RoleDevice& device, std::int64_t clips);

}  // namespace myxtts
