// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config/run_config.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "device/plan/gpu_choice.h"
#include "device/plan/plan_devices.h"

namespace myxtts {

// What a process takes of a card besides its tensors: the context and the libraries' kernels.
inline constexpr std::int64_t kContextBytes = 700 * kMegabyte;

// What must be free for a need by estimate, which may be too low by so much
// (docs/results/memory.md has estimates beside measurements).
inline constexpr std::int64_t with_margin(std::int64_t bytes) {
  return bytes + bytes / 16;
}

// The second half of a plan: arithmetic, batch, slots of the ring and memory caps, for roles that
// have their places. What the person gave stands; what they left open is decided and said. Throws
// ConfigError for a cap below what the run needs by estimate, DeviceError for one above what the
// card has.
void share_memory(const RunConfig& config, const Machine& machine, const MemoryModel& memory,
                  DevicePlan& plan);

}  // namespace myxtts
