// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/plan/device_plan.h"

namespace myxtts::test {

// What the probe is asked to do; probe_options.cpp has the flags.
struct ProbeOptions {
  std::string clips = {};  // a folder of sound files
  std::string model = "xtts-v2";
  std::string phases = "features,warm,cold";
  std::string kernels = "kernels";  // what files with kernels' times begin with
  std::string trace = {};           // a file for the pipeline's own trace
  std::int64_t batch = 32;
  std::int64_t steps = 300;
  std::int64_t warm_up = 30;     // steps that are not counted
  std::string dvae = {};         // whose DVAE; empty: the model's own
  std::int64_t dvae_blocks = 0;  // makes features heavier; 0: as the model has them
  std::size_t workers = 8;
  DevicePlan plan = {};
};

// Throws ConfigError.
ProbeOptions read_options(int count, char** arguments);

}  // namespace myxtts::test
