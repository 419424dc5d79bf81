// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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

}  // namespace myxtts
