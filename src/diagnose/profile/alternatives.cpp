// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/alternatives.h"

#include <algorithm>

#include "diagnose/profile/knobs.h"
#include "diagnose/profile/padding.h"

namespace myxtts {
namespace {

// The host is what a step waits for when the device has so small a part of it left to do once the
// host is through.
constexpr double kLeftToDo = 0.15;

bool host_is_slower(const TrialReading& reading) {
  if (!reading.lone) return false;
  const LoneStep& lone = *reading.lone;
  return lone.after_seconds < kLeftToDo * (lone.host_seconds + lone.after_seconds);
}

}  // namespace

std::vector<Knob> worth_trying(const Profile& profile) {
  const TrialReading& reading = profile.reading;
  const DevicePlan& plan = profile.setup.plan;
  std::vector<Knob> knobs;
  const auto& named = profile.findings.front().knob;
  if (named && is_batch_knob(*named, plan)) knobs.push_back(*named);
  if (plan.model.gpu && !profile.setup.static_shapes && host_is_slower(reading)) {
    knobs.push_back({"--enable-static-shapes", "train.enable_static_shapes", "true"});
  }
  const auto budget = padding_knob(profile);
  if (budget && std::ranges::find(knobs, *budget) == knobs.end()) knobs.push_back(*budget);
  return knobs;
}

}  // namespace myxtts
