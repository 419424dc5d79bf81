// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/verdict.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "diagnose/profile/remedies.h"

namespace myxtts {
namespace {

constexpr std::size_t kMostFindings = 3;

double seconds_a_clip(const StepModel& model) {
  return model.clips > 0 ? model.step() / model.clips : 0.0;
}

// How much less time a clip would take.
double saving(const StepModel& then, const StepModel& now) {
  const double seconds = seconds_a_clip(now);
  return seconds > 0 ? 1 - seconds_a_clip(then) / seconds : 0.0;
}

double cost_share(const Remedy& remedy, const StepModel& now) {
  return saving(remedy.without, now);
}

// Unevenness is what is left when everything is explained, so the machine's own noise is in it; and
// a small cost that its knob leaves in place is no more than such noise.
bool is_worth_reporting(const Remedy& remedy, const StepModel& now) {
  const bool may_be_noise = remedy.cause == Cause::Oscillation ||
                            (remedy.knob && saving(remedy.after, now) < kWorthReporting);
  return cost_share(remedy, now) >= (may_be_noise ? 2 : 1) * kWorthReporting;
}

const Remedy* largest(const std::vector<Remedy>& remedies, const StepModel& now,
                      const std::vector<Finding>& named) {
  const Remedy* found = nullptr;
  for (const Remedy& remedy : remedies) {
    const bool is_named = std::ranges::find(named, remedy.cause, &Finding::cause) != named.end();
    if (is_named || !is_worth_reporting(remedy, now)) continue;
    if (found == nullptr || cost_share(remedy, now) > cost_share(*found, now)) found = &remedy;
  }
  return found;
}

Finding finding_of(const Remedy& remedy, const StepModel& now) {
  return {.cause = remedy.cause,
          .cost_share = cost_share(remedy, now),
          .reason = remedy.reason,
          .knob = remedy.knob,
          .remark = remedy.remark,
          .predicted_step_seconds = remedy.after.step(),
          .predicted_clips_per_second = remedy.after.clips_per_second()};
}

// The host is what a step waits for when the device has so small a part of it left to do once the
// host is through.
constexpr double kLeftToDo = 0.15;

bool host_is_slower(const TrialReading& reading) {
  if (!reading.lone) return false;
  const LoneStep& lone = *reading.lone;
  return lone.after_seconds < kLeftToDo * (lone.host_seconds + lone.after_seconds);
}

}  // namespace

std::vector<Finding> find_causes(const Profile& profile) {
  std::vector<Finding> findings;
  StepModel model = model_of(profile);
  while (findings.size() < kMostFindings) {
    const std::vector<Remedy> all = remedies(profile, model);
    const Remedy* found = largest(all, model, findings);
    if (found == nullptr) break;
    findings.push_back(finding_of(*found, model));
    if (!found->knob) break;  // what comes after a cause that stays is not known
    model = found->after;
  }
  if (findings.empty()) findings.push_back(model_bound(profile, model));
  if (auto pressure = memory_pressure(profile)) findings.push_back(std::move(*pressure));
  return findings;
}

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
