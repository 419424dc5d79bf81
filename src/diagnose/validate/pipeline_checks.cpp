// SPDX-License-Identifier: Apache-2.0
#include "diagnose/validate/pipeline_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/message_text.h"

namespace myxtts {
namespace {

constexpr double kReady = 0.9;         // share of steps
constexpr double kBusyEnough = 0.7;    // of the time: a device that cannot do more
constexpr double kLeastOverlap = 0.3;  // in series there is none
constexpr double kWorthwhile = 0.05;   // the shorter part against the longer: less cannot be judged
constexpr double kIdle = 1.5;          // the whole against the sum: in series there is little more
constexpr const char* kProfile = "Type: myxtts profile, which names the stage and the setting";

// Seconds that the data device and the model device were at work, by their own clocks.
double feature_seconds(const TrialReading& trial) {
  return trial.pipeline.data_device.busy_seconds;
}

double model_seconds(const TrialReading& trial) {
  return trial.pipeline.model_device.busy_seconds;
}

// How much of what could be done at the same time was: 1 where the whole took as long as the longer
// of features and steps, 0 where it took their sum.
double overlap(const TrialReading& trial) {
  const double shorter = std::min(feature_seconds(trial), model_seconds(trial));
  if (shorter <= 0) return 0;
  return (feature_seconds(trial) + model_seconds(trial) - trial.wall_seconds) / shorter;
}

Check check_batches(const TrialReading& trial) {
  const std::string found =
      fmt::format("{}, {} in {:.1f} s", counted(trial.batches, "batch", "batches"),
                  counted(trial.clips, "clip"), trial.wall_seconds);
  if (trial.batches < kPipelineSteps || trial.clips == 0) {
    return failed("pipeline.batches", "batches",
                  fmt::format("{}, but {} batches were asked for", found, kPipelineSteps),
                  "Report it with: myxtts doctor --bundle FILE");
  }
  return passed("pipeline.batches", "batches", found);
}

// Waiting is no fault where the data device did all it could: then it is the slower one.
Check check_readiness(const TrialReading& trial) {
  const double share = trial.pipeline.readiness.share();
  const double busy = feature_seconds(trial) / std::max(trial.wall_seconds, 1e-9);
  const std::string found =
      fmt::format("{:.0f} % of {} steps had their batch ready, {:.2f} s waited", 100 * share,
                  trial.pipeline.readiness.steps, trial.pipeline.readiness.waited_seconds);
  if (share >= kReady) return passed("pipeline.readiness", "readiness", found);
  if (busy >= kBusyEnough) {
    Check result = passed("pipeline.readiness", "readiness",
                          fmt::format("{}: making features takes longer than this model's "
                                      "steps",
                                      found));
    result.remedy = kProfile;
    return result;
  }
  return failed("pipeline.readiness", "readiness",
                fmt::format("{}, though the data device was busy {:.0f} % of the time only", found,
                            100 * busy),
                kProfile);
}

Check check_overlap(const TrialReading& trial) {
  const std::string id = "pipeline.overlap";
  const std::string name = "overlap";
  const std::string found =
      fmt::format("{:.2f} s for features of {:.2f} s and steps of {:.2f} s", trial.wall_seconds,
                  feature_seconds(trial), model_seconds(trial));
  const auto [shorter, longer] = std::minmax({feature_seconds(trial), model_seconds(trial)});
  if (shorter < kWorthwhile * longer) {
    return skipped(id, name, found + ": too unequal to tell", kProfile);
  }
  if (overlap(trial) >= kLeastOverlap) {
    return passed(id, name,
                  fmt::format("{}: {:.0f} % of the shorter at the same time", found,
                              100 * std::min(1.0, overlap(trial))));
  }
  const double starved =
      seconds_in(trial.pipeline.stage("features").load.waiting_for_input);  // of the feature stage
  const double sum = feature_seconds(trial) + model_seconds(trial);
  if (starved > trial.wall_seconds / 2 || trial.wall_seconds > kIdle * sum) {
    return skipped(id, name, found + ": both devices waited too long to tell", kProfile);
  }
  return failed(id, name, found + ": one after the other",
                "Give each role threads of its own (--data-threads, --model-threads) or another "
                "device; type: myxtts profile");
}

}  // namespace

Checks check_pipeline(const TrialReading& trial) {
  Check readiness = check_readiness(trial);
  const Check in_parallel = check_overlap(trial);
  if (in_parallel.verdict == Verdict::Fail && readiness.verdict == Verdict::Fail) {
    readiness = skipped(readiness.id, readiness.name, readiness.found + ": see overlap");
  }
  return {check_batches(trial), readiness, in_parallel};
}

}  // namespace myxtts
