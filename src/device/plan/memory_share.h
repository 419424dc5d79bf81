// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/run_config.h"
#include "device/device_plan.h"
#include "device/machine.h"
#include "device/plan_devices.h"

namespace myxtts {

// The second half of a plan: arithmetic, batch, slots of the ring and memory caps, for roles that
// have their places. What the person gave stands; what they left open is decided and said. Throws
// ConfigError for a cap below what the run needs by estimate, DeviceError for one above what the
// card has.
void share_memory(const RunConfig& config, const Machine& machine, const MemoryModel& memory,
                  DevicePlan& plan);

}  // namespace myxtts
