// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/auto/placement.h"

namespace myxtts {

// What a short training measured of one placement.
struct PlacementReading {
  double clips_per_second = 0;
  double step_seconds = 0;
  double ready_share = 0;  // of the steps, 0 to 1
  std::int64_t data_bytes = 0;
  std::int64_t model_bytes = 0;
};

// One line of the table.
struct MeasuredPlacement {
  Placement placement = {};
  std::optional<PlacementReading> reading = {};      // of cached ones: with a warm cache
  std::optional<double> cold_clips_per_second = {};  // of cached ones: in the first epoch
  std::string reason = {};                           // why there is no reading
  double clips_per_second = 0;  // to be expected of the whole run; 0: not measured
};

// Trains some steps in a placement and discards the weights. Throws Error where it cannot.
using MeasurePlacement = std::function<PlacementReading(const Placement& placement)>;

struct CalibrationSettings {
  bool may_cache = false;        // the feature cache may be turned on
  double first_epoch_share = 1;  // of the run: a cache that is filled while training pays after it
  bool noisy = false;  // other programs use the machine too: what is close is measured twice
  std::function<bool()> stopped = {};  // ends the calibration before the next measurement
  std::function<void(const Placement&)> begins = {};  // for progress
  std::function<void(const MeasuredPlacement&)> ended = {};
};

// Measures each placement, then the feature cache on the simplest and, of each mode, on the fastest
// and on the one that leaves the model most. The table is in the order of `placements`, cached ones
// last. A placement that cannot be measured is a line with its reason.
std::vector<MeasuredPlacement> calibrate(const std::vector<Placement>& placements,
                                         const MeasurePlacement& measure,
                                         const CalibrationSettings& settings);

// The fastest; of those that differ by less than `tie` (a share) from it, the first. Null when
// nothing could be measured.
const MeasuredPlacement* fastest(const std::vector<MeasuredPlacement>& table, double tie);

// What two measurements of one placement may differ by: on GPUs, and on a CPU that other programs
// use too.
inline constexpr double kGpuTie = 0.01;
inline constexpr double kCpuTie = 0.02;

// The table for people; `chosen`, if any, is marked by the word. What this version cannot measure
// is named too.
std::string describe(const std::vector<MeasuredPlacement>& table, const Placement* chosen,
                     const std::string& mark = "taken");

}  // namespace myxtts
