// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/run_config.h"
#include "device/device_plan.h"
#include "device/machine.h"

namespace myxtts {

// The first half of a plan: mode, roles and how batches travel, with the warnings that follow from
// the cards' places. Memory is left open. Throws as plan_devices() does.
DevicePlan place_roles(const RunConfig& config, const Machine& machine,
                       const std::string& cuda_fault);

}  // namespace myxtts
