// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/pipeline_reading.h"

namespace myxtts {

// What NVML said of a GPU while a trial was measured, averaged over its looks.
struct GpuSeen {
  double busy_share = 0;  // 0 to 1: of the time in which it did anything
  double watts = 0;
  double watts_limit = 0;
  std::int64_t used_bytes = 0;
  std::int64_t total_bytes = 0;
};

// One role's device during a trial.
struct RoleSeen {
  std::int64_t peak_bytes = 0;  // reserved by the role
  std::optional<std::int64_t> cap = {};
  std::optional<GpuSeen> gpu = {};  // nothing: the role is on the CPU, or the driver is silent
};

// Everything a trial measured. Times of steps are the model device's own, by events; the
// pipeline's are of the measured steps alone, warm-up taken off.
struct TrialReading {
  std::vector<double> step_seconds;      // from one step's end to the next, in order
  std::vector<double> resident_seconds;  // the same steps on batches that stay on the device
  double wall_seconds = 0;               // of the measured steps
  double host_step_seconds = 0;          // of the trainer's thread: handing one step to the device
  std::int64_t clips = 0;
  double audio_seconds = 0;
  std::int64_t tokens = 0;         // computed, with padding
  std::int64_t useful_tokens = 0;  // of them
  PipelineReading pipeline;
  RoleSeen data;
  RoleSeen model;
};

}  // namespace myxtts
