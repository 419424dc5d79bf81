// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/run_config.h"
#include "device/device_plan.h"
#include "pipeline/pipeline_reading.h"

namespace myxtts {

// What can be advised to a run, as not every run may have it.
struct Advice {
  bool cache = true;    // --cache-dataset
  bool profile = true;  // myxtts profile with the same settings
};
Advice advice_for(const RunConfig& config);

// Whether the model device had its batches in time, and if not, which stage held it up and the one
// thing to change: a sentence or two. From the waiting times of the stages alone.
std::string pipeline_verdict(const PipelineReading& reading, const Advice& advice = {});

// What a run did, for its end.
struct RunSummary {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::int64_t skipped_steps = 0;
  double seconds = 0;  // of this process' training
  double audio_seconds = 0;
  std::optional<double> first_loss = {};  // mean of the first few steps
  std::optional<double> last_loss = {};   // of the last few
  std::optional<double> best_validation_loss = {};
  PipelineReading pipeline = {};
  Advice advice = {};
};

// Several lines: steps and speed, losses, the stages, the verdict.
std::string describe(const RunSummary& summary);

}  // namespace myxtts
