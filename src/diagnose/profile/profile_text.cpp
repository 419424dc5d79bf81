// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/profile_text.h"

#include <fmt/format.h>

#include "base/human.h"
#include "diagnose/profile/grades.h"

namespace myxtts {
namespace {

std::string speed(const Profile& profile) {
  const StepStatistics& steps = profile.steps;
  std::string text = fmt::format(
      "speed     {:.4g} clips/s, {:.3g} hours of speech an hour\n"
      "step      {:.3g} ms on average, half below {:.3g}, 99 % below {:.3g}; variation {:.1f} % "
      "({:.1f} % at equal work)\n",
      profile.clips_per_second, profile.audio_hours_per_hour, 1000 * steps.mean, 1000 * steps.p50,
      1000 * steps.p99, 100 * steps.variation, 100 * profile.variation);
  if (profile.ceiling_seconds) {
    text += fmt::format("ceiling   {:.3g} ms: the same step on batches that stay on the device\n",
                        1000 * *profile.ceiling_seconds);
  }
  return text + fmt::format("padding   {:.1f} % of the tokens\n", 100 * profile.padding_share);
}

std::string role(const std::string& name, const RolePlan& plan, const RoleSeen& seen) {
  std::string text = fmt::format("{:<9} {}", name, plan.gpu ? plan.gpu->name : "CPU");
  if (seen.peak_bytes > 0) {
    text += fmt::format("  {} at most", human_size(static_cast<std::uint64_t>(seen.peak_bytes)));
  }
  if (seen.gpu) {
    text += fmt::format("  in use {:.0f} %", 100 * seen.gpu->busy_share);
    if (seen.gpu->watts > 0) {
      text += fmt::format("  {:.0f} of {:.0f} W", seen.gpu->watts, seen.gpu->watts_limit);
    }
  }
  return text + "\n";
}

std::string thresholds(const Profile& profile) {
  std::string text;
  for (const Threshold& threshold : thresholds_of(profile)) {
    if (!threshold.measured) continue;
    text += fmt::format("{:<13} {:>5.1f} %  {} {:.0f} %  {:<7}  {}\n", threshold.name,
                        100 * *threshold.measured, threshold.is_least ? "above" : "below",
                        100 * threshold.limit, threshold.is_crossed() ? "crossed" : "fine",
                        threshold.meaning);
  }
  const auto marks = marks_of(profile);
  text += fmt::format("grade         {} (", name_of(grade_of(marks)));
  for (std::size_t i = 0; i < marks.size(); ++i) {
    text += fmt::format("{}{} {:.1f} %: {}", i == 0 ? "" : ", ", marks[i].name,
                        100 * marks[i].measured, name_of(marks[i].grade));
  }
  return text + ")\n";
}

std::string finding_text(const Finding& finding, const char* rank, double clips_before) {
  std::string text = fmt::format("{}{}", rank, name_of(finding.cause));
  if (finding.cost_share > 0) {
    text += fmt::format(", {:.0f} % of the time", 100 * finding.cost_share);
  }
  text += fmt::format(": {}.\n", finding.reason);
  if (finding.knob) {
    text += fmt::format("  type      {}\n", finding.knob->flag);
    text +=
        fmt::format("  predicted {:.4g} clips/s ({:+.0f} %), a step of {:.3g} ms\n",
                    finding.predicted_clips_per_second, 100 * finding.predicted_gain(clips_before),
                    1000 * finding.predicted_step_seconds);
    if (!finding.remark.empty()) text += fmt::format("  note      {}\n", finding.remark);
  } else if (finding.cause != Cause::ModelBound) {
    text += "  no setting of this program changes that\n";
  }
  return text;
}

std::string findings(const Profile& profile) {
  std::string text;
  double before = profile.clips_per_second;
  for (std::size_t i = 0; i < profile.findings.size(); ++i) {
    text += finding_text(profile.findings[i], i == 0 ? "verdict   " : "then      ", before);
    before = profile.findings[i].predicted_clips_per_second;
  }
  return text;
}

}  // namespace

std::string describe(const Profile& profile) {
  const ProfileSetup& setup = profile.setup;
  return fmt::format("{} steps of {}, clips in each: {}, {} mode, {}\n",
                     profile.reading.step_seconds.size(), setup.model_size,
                     setup.plan.batch_size * setup.plan.grad_accum, name_of(setup.plan.mode),
                     name_of(setup.plan.precision)) +
         speed(profile) + role("data", setup.plan.data, profile.reading.data) +
         role("model", setup.plan.model, profile.reading.model) + "\n" +
         describe(profile.reading.pipeline) + "\n" + thresholds(profile) + "\n" + findings(profile);
}

}  // namespace myxtts
