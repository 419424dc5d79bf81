// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/interruption.h"
#include "config/run_config.h"
#include "diagnose/auto/calibration.h"

namespace myxtts {

// Measures settings by starting `myxtts profile` with them, so that each has its own visible
// devices, contexts, threads and memory, and leaves nothing behind. `profile` looks into one
// training; ranks are trained by `myxtts train`, for as few steps, into a run directory that is
// thrown away. One thread.
class PlacementTrials {
 public:
  // `folder` is for files in passing. A signal to us goes to the process that measures.
  PlacementTrials(std::filesystem::path folder, std::int64_t steps,
                  const Interruption& interruption);

  // Throws DataError with what the process complained of, also when a signal ended it.
  PlacementReading measure(const RunConfig& config);

 private:
  PlacementReading measure_alone(const RunConfig& config);
  PlacementReading measure_ranks(const RunConfig& config);
  // Runs this program with the settings as a file. Throws as measure() does.
  void run(const RunConfig& config, const std::vector<std::string>& words);

  const std::filesystem::path folder_;
  const std::int64_t steps_;
  const Interruption& interruption_;
};

}  // namespace myxtts
