// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "config/effective_config.h"
#include "device/plan/device_plan.h"
#include "diagnose/profile/profile.h"
#include "pipeline/pipeline_reading.h"

namespace myxtts {

struct TrialSettings {
  std::int64_t warm_up = 10;   // steps that are not counted
  std::int64_t steps = 100;    // that are
  std::int64_t resident = 20;  // steps on resident batches, the ceiling; 0: not measured

  // For tests alone: called where each kind of work is done, and may make it slow.
  std::function<void(Work)> on_work = {};
  std::int64_t token_counts = 0;  // that batches are padded to, wherever the model is; 0: as a run
  std::int64_t least_tokens = 0;  // of each of them
};

// What a verdict has to know of the settings of a trial and of this machine.
ProfileSetup profile_setup(const EffectiveConfig& settings, const DevicePlan& plan);

// Trains for some steps as `train` would, with the same pipeline and the same step, and measures;
// what it learnt is thrown away, and nothing is written but indexes and caches. Shows progress.
// With --cache-dataset, what the measured steps need is in the cache before they are measured: they
// are those of an epoch after the first.
//
// `plan` is open. Throws what TrainingRun throws; stopped() is asked between steps and ends the
// trial with what was measured so far.
TrialReading run_trial(const EffectiveConfig& settings, const DevicePlan& plan,
                       const TrialSettings& trial, const std::function<bool()>& stopped = {});

}  // namespace myxtts
