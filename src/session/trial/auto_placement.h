// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/interruption.h"
#include "config/effective_config.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "diagnose/auto/placement.h"
#include "run/checkpoint_store.h"
#include "run/run_directory.h"

namespace myxtts {

// What can be known of a run's clips before it begins.
struct RunOutline {
  EffectiveConfig settings;  // as given, and where a vocabulary was learnt, with its file
  std::string corpus = {};   // fingerprint
  std::int64_t visits = 0;   // of clips, in an epoch

  // The share of the run's steps that its first way through the clips takes.
  double first_epoch_share(const DevicePlan& plan) const;
};

// Reads the corpora, which scans them where that is needed. The vocabulary is that of `model`, of
// --init or --vocab, or it is learnt: once, into `scratch`, and not by each process that is given
// the settings. Indexes go to `indexes`, unless --cache-dir names a folder. Shows progress. Throws
// DataError, ConfigError.
RunOutline outline_run(EffectiveConfig settings, const std::optional<std::filesystem::path>& model,
                       const std::filesystem::path& scratch, const std::filesystem::path& indexes);

struct PlacementComparison {
  const EffectiveConfig& settings;
  const Machine& machine;
  const DevicePlan& usual;                 // without --mode auto
  std::filesystem::path folder;            // for temporary files; exists
  std::filesystem::path cache;             // for indexes and features, unless --cache-dir names one
  double first_epoch_share = 1;            // of the run
  bool may_cache = false;                  // the feature cache may be turned on
  std::optional<std::int64_t> steps = {};  // to measure in each; nothing: a few dozen
};

// Measures every placement that is possible here, one process for each; shows progress. Ends soon
// after an interruption, with what was measured until then.
std::vector<MeasuredPlacement> compare_placements(const PlacementComparison& comparison,
                                                  const Interruption& interruption);

// The fastest of them, where `usual` is the plan without --mode auto; null: none could be measured.
const Placement* fastest_of(const std::vector<MeasuredPlacement>& table, const DevicePlan& usual);

// What --mode auto does: the settings with the fastest placement of this machine. It is
// measured, or taken from RUN/auto.json while machine, corpus and settings are those of that time.
// Measuring trains nothing that is kept and takes no clip from the run. `usual` is the plan without
// --mode auto.
//
// Nothing: interrupted. Throws DeviceError when nothing could be measured.
std::optional<EffectiveConfig> fastest_placement(const EffectiveConfig& settings,
                                                 const DevicePlan& usual, const RunDirectory& run,
                                                 const std::optional<Checkpoint>& resumed,
                                                 const Interruption& interruption);

}  // namespace myxtts
