// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/run_config.h"
#include "device/device_plan.h"
#include "diagnose/doctor/run_checklist.h"

namespace myxtts {

// The sizes a run would train: those of --init, whose files are checked, else of --model-size.
// Throws DataError.
ModelFacts facts_of_model(const TrainConfig& config);

// Everything that can be known of a run before it starts; what cannot be had is a fault, not an
// error. The corpus is scanned where its index is missing or old, with progress, into the run
// directory or --cache-dir.
RunFacts gather_run_facts(const RunConfig& config);

}  // namespace myxtts
