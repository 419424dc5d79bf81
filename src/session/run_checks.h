// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config/effective_config.h"
#include "config/run_config.h"
#include "device/plan/device_plan.h"
#include "diagnose/doctor/run_checklist.h"
#include "diagnose/validate/validation_report.h"

namespace myxtts {

// Everything that can be known of a run before it starts, of each of its parts where it has
// several; what cannot be had is a fault, not an error. The corpus is scanned where its index is
// missing or old, with progress, into --cache-dir or where `prepare` keeps it. The run is one of
// `ranks` that share this host.
std::vector<RunFacts> gather_run_facts(const std::vector<RunConfig>& parts, int ranks);

// That the disk has too little room for what the parts of a run will keep, in the words of
// --dry-run; empty: it has enough. Throws what opening their model throws.
std::string caution_of_disk(const std::vector<RunConfig>& parts);

// Before anything is written: throws ConfigError where the run directory would lie in a corpus, or
// where --resume goes on with another network than the one that is asked for.
void check_before_run(const EffectiveConfig& settings);

// Before anything is planned or read: throws where what the settings want written beside the run
// (--trace, --cache-dir) could not be, or where --test-sentences cannot be read.
void check_files_beside(const RunConfig& config);

// What only the settings as they were typed tell of a run: that its model cannot be trained with
// them, or that a file they name cannot be had.
void add_faults_of_settings(const EffectiveConfig& settings, RunFacts& facts);

// Why a run cannot begin in its --checkpoint-dir, as the run itself would say it; empty: it can.
std::string fault_of_run_directory(const EffectiveConfig& settings);

// What a person did not set, for a validation: a tiny network and small batches, which every
// machine can try within a minute.
EffectiveConfig with_validation_defaults(EffectiveConfig settings);

// Takes the five steps on open devices, the last with a generated corpus that is gone afterwards.
// The settings have those defaults. Shows progress.
std::vector<StepResult> validate_run(const EffectiveConfig& settings, const DevicePlan& plan);

}  // namespace myxtts
