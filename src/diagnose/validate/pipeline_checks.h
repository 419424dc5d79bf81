// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "diagnose/validate/validation_report.h"
#include "pipeline/pipeline_reading.h"

namespace myxtts {

// What a short training through the real pipeline showed. Times are the devices' own.
struct PipelineTrial {
  std::int64_t wanted_batches = 0;
  std::int64_t batches = 0;  // that were trained on
  std::int64_t clips = 0;
  double whole_seconds = 0;    // of all steps, from the first batch to the end of the last step
  double feature_seconds = 0;  // of them: the data device at work
  double step_seconds = 0;     // of them: the model device at work
  double starved_seconds = 0;  // of them: the feature stage waiting for decoded sound
  ReadinessReading readiness = {};
};

// That all batches came, that they were ready when the model device wanted them or else the data
// device was busy making them, and that both devices worked at the same time.
CheckResults check_pipeline(const PipelineTrial& trial);

// How much of what could be done at the same time was: 1 where the whole took as long as the longer
// of features and steps, 0 where it took their sum.
double overlap(const PipelineTrial& trial);

}  // namespace myxtts
