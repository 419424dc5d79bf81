// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "device/device_plan.h"
#include "diagnose/validate/verdict.h"

namespace myxtts {

// What validate prints: a table of each step's checks, with the remedy under those that failed, and
// one sentence.
std::string validation_text(const DevicePlan& plan, const std::vector<StepResult>& results);

// The same for scripts: {"version", "passed", "seconds", "plan", "steps": [{"id", "name",
// "seconds", "checks": [{"id", "name", "verdict", "found", "remedy"}]}]}.
std::string validation_json(const std::string& version, const DevicePlan& plan,
                            const std::vector<StepResult>& results);

}  // namespace myxtts
