// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "diagnose/profile/padding.h"
#include "diagnose/profile/remedies.h"

namespace myxtts {
namespace {

constexpr double kNearlyFull = 0.95;  // of a role's memory

std::string milliseconds(double seconds) {
  return fmt::format("{:.3g} ms", 1000 * seconds);
}

double share_of(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

// Clips of a step, of the length that those of both readings had on average: a few steps may have
// had long ones or short ones.
double clips_of(const TrialReading& tried, const TrialReading& measured) {
  const double steps = static_cast<double>(tried.step_seconds.size());
  const double a_clip = share_of(static_cast<double>(measured.useful_tokens + tried.useful_tokens),
                                 static_cast<double>(measured.clips + tried.clips));
  return share_of(static_cast<double>(tried.useful_tokens), a_clip * steps);
}

std::optional<Remedy> launch(const Profile& profile, const StepModel& model) {
  const Tried* graphs = tried_with(profile, "train.enable_static_shapes");
  if (graphs == nullptr || !graphs->reading || !profile.reading.lone) return std::nullopt;
  const LoneStep& lone = *profile.reading.lone;
  const StepModel after = with_tried(profile, model, *graphs);
  return Remedy{
      .cause = Cause::Launch,
      .reason = fmt::format("the host takes {} to hand a step over, and {} later the "
                            "device has done it: it waits for the host all the time",
                            milliseconds(lone.host_seconds), milliseconds(lone.after_seconds)),
      .knob = graphs->knob,
      .remark = "measured: the same steps, recorded as graphs",
      .without = after,
      .after = after};
}

}  // namespace

const Tried* tried_with(const Profile& profile, std::string_view key) {
  for (const Tried& tried : profile.reading.tried) {
    if (tried.knob.key == key) return &tried;
  }
  return nullptr;
}

const Tried* tried_with(const Profile& profile, const Knob& knob) {
  const auto& tried = profile.reading.tried;
  const auto found = std::ranges::find(tried, knob, &Tried::knob);
  return found == tried.end() ? nullptr : &*found;
}

StepModel with_tried(const Profile& profile, const StepModel& model, const Tried& tried) {
  if (!tried.reading || tried.reading->step_seconds.empty()) return model;
  StepModel there = model_of(make_profile(profile.setup, *tried.reading));
  there.clips = clips_of(*tried.reading, profile.reading);
  return changed_as(model, model_of(profile), there);
}

std::vector<Remedy> step_remedies(const Profile& profile, const StepModel& model) {
  std::vector<Remedy> all;
  for (const auto& remedy : {launch(profile, model), padding_remedy(profile, model)}) {
    if (remedy) all.push_back(*remedy);
  }
  return all;
}

Finding model_bound(const Profile& profile, const StepModel& model) {
  return {.cause = Cause::ModelBound,
          .reason = fmt::format("the model device worked {:.0f} % of the time, and {:.0f} % of the "
                                "batches were there before they were wanted",
                                100 * (1 - profile.waited_share),
                                100 * profile.reading.pipeline.readiness.share()),
          .predicted_step_seconds = model.step(),
          .predicted_clips_per_second = model.clips_per_second()};
}

std::optional<Finding> memory_pressure(const Profile& profile) {
  const RoleSeen& role = profile.reading.model;
  const double by_cap =
      role.cap ? share_of(static_cast<double>(role.peak_bytes), static_cast<double>(*role.cap)) : 0;
  const double by_card = role.gpu ? share_of(static_cast<double>(role.gpu->used_bytes),
                                             static_cast<double>(role.gpu->total_bytes))
                                  : 0;
  if (std::max(by_cap, by_card) < kNearlyFull) return std::nullopt;
  Finding finding{
      .cause = Cause::MemoryPressure,
      .reason = fmt::format("the model's memory is {:.0f} % full", 100 * std::max(by_cap, by_card)),
      .predicted_step_seconds = profile.steps.mean,
      .predicted_clips_per_second = profile.clips_per_second};
  if (!profile.setup.plan.savers.recompute) {
    finding.knob = Knob{"--recompute on", "train.recompute", "on"};
    finding.remark = "slower by up to a third, and safe from longer clips";
  }
  return finding;
}

}  // namespace myxtts
