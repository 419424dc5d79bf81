// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cli/interruption.h"
#include "config/effective_config.h"
#include "device/device_plan.h"
#include "run/checkpoint_store.h"
#include "run/run_directory.h"

namespace myxtts {

// What --mode auto comes to: the settings with the fastest placement of this machine. It is
// measured, or taken from RUN/auto.json while machine, corpus and settings are those of that time.
// Measuring trains nothing that is kept and takes no clip from the run. `usual` is the plan without
// --mode auto.
//
// Nothing: interrupted. Throws DeviceError when nothing could be measured.
std::optional<EffectiveConfig> settle_placement(const EffectiveConfig& settings,
                                                const DevicePlan& usual, const RunDirectory& run,
                                                const std::optional<Checkpoint>& resumed,
                                                const Interruption& interruption);

}  // namespace myxtts
