// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config/model.h"
#include "config/run_config.h"
#include "device/device_plan.h"
#include "device/machine.h"

namespace myxtts {

// Whether the ranks of a run are threads of this process, fed by one data device: --ranks on the
// CPU, --gpus beside --data-gpu.
bool has_rank_threads(const RunConfig& config);

// The settings of each of those ranks, as if it were alone: the GPU of --gpus is its --model-gpu.
// Throws DeviceError where --gpus all leaves none.
std::vector<RunConfig> settings_of_ranks(const RunConfig& config, const GpuInventory& gpus);

// Of the first of them, on this machine: the others differ by their devices alone. The settings
// themselves where there are none.
RunConfig settings_of_first_rank(const RunConfig& config);

// The plans of ranks as one: a data role that works for all, with the threads of all unless
// --data-threads says how many, and each rank's own model device. Throws DeviceError where their
// batches differ.
std::vector<DevicePlan> joined_plans(std::vector<DevicePlan> plans, const DevicesConfig& devices);

// The plans of those ranks on this machine, each made as a process that has its share of the cores
// would make it. Opens nothing. Throws ConfigError, DeviceError.
std::vector<DevicePlan> plan_ranks(const RunConfig& config, const ModelConfig& model);

// Opens what was planned, and tells it as open_and_tell() does.
std::vector<DevicePlan> open_and_tell(const std::vector<DevicePlan>& planned);

}  // namespace myxtts
