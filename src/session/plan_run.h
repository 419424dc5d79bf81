// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/model.h"
#include "config/run_config.h"
#include "device/device_plan.h"

namespace myxtts {

// The sizes a run would train: those of --init, whose files are checked, else of --model-size.
// Throws DataError.
ModelConfig sizes_to_train(const TrainConfig& config);

// The same for a run that may be resumed: its newest checkpoint is whole, so that --init may be
// gone.
ModelConfig sizes_of_run(const RunConfig& config);

// The plan of a run on this machine; opens nothing. Throws ConfigError, DeviceError.
DevicePlan plan_run(const RunConfig& config, const ModelConfig& model);

// The same, opened: only the planned GPUs are visible to CUDA afterwards, and no context is made.
DevicePlan plan_and_open_devices(const RunConfig& config, const ModelConfig& model);

// Opens what was planned, and tells it in the words of a run's start as each becomes true.
DevicePlan open_and_tell(const DevicePlan& planned);

}  // namespace myxtts
