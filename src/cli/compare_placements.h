// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "cli/interruption.h"
#include "config/effective_config.h"
#include "device/device_plan.h"
#include "device/machine.h"
#include "diagnose/auto/calibration.h"

namespace myxtts {

// The settings without --mode auto: what is planned for everybody who does not ask for it.
RunConfig without_auto(RunConfig config);

struct PlacementQuestion {
  const EffectiveConfig& settings;
  const Machine& machine;
  const DevicePlan& usual;                 // without --mode auto
  std::filesystem::path folder;            // for files in passing; exists
  std::filesystem::path cache;             // for indexes and features, unless --cache-dir names one
  double first_epoch_share = 1;            // of the run
  bool may_cache = false;                  // the feature cache may be turned on
  std::optional<std::int64_t> steps = {};  // to measure in each; nothing: a few dozen
};

struct PlacementAnswer {
  std::vector<MeasuredPlacement> table = {};
  std::optional<Placement> fastest = {};  // nothing: none could be measured
};

// Measures every placement that is possible here, one process for each; shows progress. Ends soon
// after an interruption, with what was measured until then.
PlacementAnswer compare_placements(const PlacementQuestion& question,
                                   const Interruption& interruption);

}  // namespace myxtts
