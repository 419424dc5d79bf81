// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/effective_config.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"

namespace myxtts {

// One way to share a machine between data work and training: what flags would ask for.
struct Placement {
  Mode mode = Mode::Cpu;                       // never Auto
  std::optional<SplitGpu> split_gpu = {};      // of Split
  std::optional<std::int64_t> data_gpu = {};   // of Dual
  std::optional<std::int64_t> model_gpu = {};  // of Dual
  std::optional<std::int64_t> data_threads = {};
  std::optional<std::int64_t> model_threads = {};
  // Of Cpu, in place of threads: ranks that are threads of one process and share a batch.
  std::optional<std::int64_t> ranks = {};
  std::int64_t rank_batch_size = 0;  // clips of each of them
  bool cached = false;               // with --cache-dataset

  friend bool operator==(const Placement&, const Placement&) = default;
};

// "single", "split 0:16", "dual 1 to 0", "cpu 1 + 1 threads", "cpu 2 ranks"; "single, cached".
std::string name_of(const Placement& placement);

// "--split-gpu 0:16 --cache-dataset": what asks for it on the command line.
std::string flags_of(const Placement& placement);

// The settings with that placement in place of their own. Batch and accumulation are those of
// `usual`, the plan without --mode auto, so that every placement trains the same steps.
RunConfig placed(RunConfig config, const Placement& placement, const DevicePlan& usual);

// What --mode auto may choose from here, the simplest first. What a person has set is kept: with
// --cache-dataset all of them are cached, otherwise none is; --data-threads and --model-threads
// stay as given, and no ranks are tried beside them. `usual` says whether the run is on GPUs.
std::vector<Placement> possible_placements(const RunConfig& config, const Machine& machine,
                                           const DevicePlan& usual);

// Whether --mode auto may turn the feature cache on: nobody has decided about it. A run's own
// config.yaml says "false" where nobody did; what was `chosen` for that run before tells the two
// apart.
bool may_cache(const EffectiveConfig& settings, const std::optional<Placement>& chosen);

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
