// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/device_plan.h"
#include "diagnose/profile/step_statistics.h"
#include "diagnose/profile/trial_reading.h"

namespace myxtts {

// What a trial ran with, as far as a verdict needs to know it.
struct ProfileSetup {
  DevicePlan plan = {};
  std::string model_size = {};
  std::string corpus = {};     // "generated" or the folders
  bool static_shapes = false;  // graphs, on a GPU
  bool cache_dataset = false;
  bool shift_clips = false;          // codes are others each time, and no cache can keep them
  bool host_path_was_asked = false;  // --transfer-path host
  std::int64_t cores = 1;            // that this process may use
  std::int64_t warm_up = 0;
};

// What a step can be held up by.
enum class Cause {
  Reading,
  Decoding,
  Features,
  Transfer,
  ModelBound,
  Launch,
  Padding,
  MemoryPressure,
  Oscillation,
};
std::string name_of(Cause cause);  // "reading", ..., "host-bound launch", ...

struct Finding {
  Cause cause = Cause::ModelBound;
  double cost_share = 0;          // of the step's time that would be gone without it
  std::string reason = {};        // a sentence with the figures that it follows from
  std::optional<Knob> knob = {};  // nothing: no setting helps
  std::string remark = {};        // what else to know of the knob; may be empty
  double predicted_step_seconds = 0;
  double predicted_clips_per_second = 0;

  double predicted_gain(double clips_per_second) const {
    return clips_per_second > 0 ? predicted_clips_per_second / clips_per_second - 1 : 0.0;
  }
};

// Everything that `profile` tells, worked out from what was measured and from nothing else.
struct Profile {
  ProfileSetup setup;
  TrialReading reading;

  StepStatistics steps = {};
  double variation = 0;  // at equal work
  double clips_per_second = 0;
  double audio_hours_per_hour = 0;
  std::optional<double> ceiling_seconds = {};  // a step on resident batches with as many tokens
  double waited_share = 0;                     // of the model device's time, for batches
  double transfer_share = 0;                   // of a step: bytes on their way, also beside it
  double padding_share = 0;                    // of the computed tokens

  // The verdict first, then what would be next once its knob is turned. Never empty.
  std::vector<Finding> findings = {};
};

Profile make_profile(const ProfileSetup& setup, TrialReading reading);

}  // namespace myxtts
