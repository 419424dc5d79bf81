// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/pipeline_reading.h"

namespace myxtts {

// What NVML said of a GPU while a trial was measured, averaged over its looks.
struct GpuSeen {
  double busy_share = 0;  // 0 to 1: of the time in which it did anything
  double watts = 0;       // 0: the driver does not tell
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

// A step that is handed to a device with nothing else to do, averaged over a few.
struct LoneStep {
  double host_seconds = 0;   // until the host had handed it over
  double after_seconds = 0;  // from then to its end on the device; little: the host was the slower
};

// One setting to change, as a flag and as the configuration file has it.
struct Knob {
  std::string flag;  // "--num-workers 6"
  std::string key;   // "data.num_workers"
  std::string value;

  friend bool operator==(const Knob&, const Knob&) = default;
};

struct TrialReading;

// The same training with another setting of the step, where the first measurement said that it may
// be the better one: what it gives, beside the same pipeline, is measured and not guessed.
struct Tried {
  Knob knob;
  std::shared_ptr<const TrialReading> reading = {};  // null: it cannot be done
};

// Everything a trial measured. Times of steps are the model device's own, by events; the
// pipeline's are of the measured steps alone, warm-up taken off.
struct TrialReading {
  std::vector<double> step_seconds;       // from one step's end to the next, in order
  std::vector<std::int64_t> step_tokens;  // that each of them computed, with padding
  std::vector<double> resident_seconds;   // the same on batches that stay on the device
  std::optional<LoneStep> lone = {};      // nothing: not measured
  double wall_seconds = 0;                // of the measured steps
  double cpu_seconds = 0;                 // of all threads of this process, in that time
  double host_step_seconds = 0;           // of the trainer's thread: handing one step to the device
  std::int64_t batches = 0;               // --grad-accum of them a step
  std::int64_t clips = 0;
  double audio_seconds = 0;
  std::int64_t tokens = 0;         // computed, with padding
  std::int64_t useful_tokens = 0;  // of them
  std::int64_t longest_row = 0;    // tokens of the longest clip; 0: not known
  double resident_tokens = 0;      // computed in a resident step, on average
  double file_seconds = 0;         // of the decoders' busy time: waiting for files
  PipelineReading pipeline;
  RoleSeen data;
  RoleSeen model;

  std::vector<Tried> tried = {};  // other settings of the step
};

}  // namespace myxtts
