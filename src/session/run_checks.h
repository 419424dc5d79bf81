// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config/effective_config.h"
#include "config/run_config.h"
#include "device/plan/device_plan.h"
#include "diagnose/doctor/run_checklist.h"
#include "diagnose/validate/validation_report.h"

namespace myxtts {

// Everything that can be known of a run before it starts, of each of its stages where it has
// several; what cannot be had is a fault, not an error. The corpus is scanned where its index is
// missing or old, with progress, into --cache-dir or where `prepare` keeps it.
std::vector<RunFacts> gather_run_facts(const std::vector<RunConfig>& stages);

// What a person did not set, for a validation: a tiny network and small batches, which every
// machine can try within a minute.
EffectiveConfig with_validation_defaults(EffectiveConfig settings);

struct Validation {
  DevicePlan plan;
  std::vector<StepResult> steps;
};

// Plans and opens the devices of the settings and takes the five steps on them, the last with a
// generated corpus that is gone afterwards. Shows progress. Throws ConfigError and DeviceError
// where there is no plan.
Validation validate_run(const EffectiveConfig& settings);

}  // namespace myxtts
