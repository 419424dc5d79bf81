// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "device/device_plan.h"
#include "diagnose/profile/trial_reading.h"

namespace myxtts {

// Settings of the step that are worth trying on resident batches, because what was measured with
// the present ones says that they may be the better ones: graphs where the host cannot keep a GPU
// busy, a budget of tokens where much is padding. Empty in most cases.
std::vector<Knob> worth_trying(const TrialReading& reading, const DevicePlan& plan,
                               bool static_shapes);

}  // namespace myxtts
