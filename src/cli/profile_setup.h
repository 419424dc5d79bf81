// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/effective_config.h"
#include "device/device_plan.h"
#include "diagnose/profile/profile.h"

namespace myxtts {

// Throws ConfigError for settings that a trial cannot have.
void check_can_be_profiled(const RunConfig& config);

// The settings with every knob turned that the findings name.
EffectiveConfig with_knobs(EffectiveConfig settings, const Profile& profile);

}  // namespace myxtts
