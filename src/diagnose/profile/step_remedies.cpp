// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/message_text.h"
#include "diagnose/profile/remedies.h"

namespace myxtts {
namespace {

// Note [What padding costs]
// Padding is computed like clips are, so the question is what the same computed tokens would give
// with clips in their place: as many more clips a step as more of it is useful, in the same time of
// the model. That is all that padding can be blamed for. A larger budget may give more than that,
// because larger steps are worth more to a device; and less, where the stages before the model
// cannot bring so many clips. So the cost is the lesser of that and what was measured by trying,
// and the prediction is what was measured.

constexpr double kUsualShare =
    0.95;  // of the tokens that is useful with a budget; see docs/internals/batches.md
constexpr double kSameSize = 1.1;  // batches that differ by less are as large

double useful_share(const TrialReading& reading) {
  return share_of(static_cast<double>(reading.useful_tokens), static_cast<double>(reading.tokens));
}

// The step with `factor` times as many clips in the same computed tokens.
StepModel filled(const StepModel& model, double factor) {
  StepModel after = scaled(model, factor);
  after.model = model.model;
  after.unevenness = model.unevenness;
  return after;
}

constexpr double kNearlyFull = 0.95;  // of a role's memory

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
  return Remedy{.cause = Cause::Launch,
                .reason = fmt::format("the host takes {} to hand a step over, and {} later the "
                                      "device has done it: it waits for the host all the time",
                                      human_milliseconds(lone.host_seconds),
                                      human_milliseconds(lone.after_seconds)),
                .knob = graphs->knob,
                .remark = "measured: the same steps, recorded as graphs",
                .without = after,
                .after = after};
}

}  // namespace

std::optional<Knob> padding_knob(const Profile& profile) {
  const TrialReading& reading = profile.reading;
  if (reading.batches == 0 || 1 - useful_share(reading) < kWorthReporting) return std::nullopt;
  // As many as are computed now, so that nothing needs more memory; and no fewer than a clip has.
  const std::int64_t computed = reading.tokens / reading.batches;
  const std::int64_t budget = std::max(computed, reading.longest_row);
  const auto& present = profile.setup.plan.batch_tokens;
  if (!present) return number_knob("train.batch_tokens", budget);
  // What is left over at the end of a batch weighs less in a larger one.
  const bool is_filled = static_cast<double>(budget) < kSameSize * static_cast<double>(*present);
  return is_filled ? larger_batch(profile.setup.plan, 2)
                   : number_knob("train.batch_tokens", budget);
}

std::optional<Remedy> padding_remedy(const Profile& profile, const StepModel& model) {
  const auto knob = padding_knob(profile);
  if (!knob) return std::nullopt;
  Remedy remedy{.cause = Cause::Padding,
                .reason = fmt::format("{:.0f} % of the tokens that are computed are padding",
                                      100 * profile.padding_share),
                .knob = knob};
  const Tried* tried = tried_with(profile, *knob);
  const bool is_measured = tried != nullptr && tried->reading;
  const double useful = is_measured ? useful_share(*tried->reading) : kUsualShare;
  remedy.without = filled(model, std::max(1.0, share_of(useful, useful_share(profile.reading))));
  remedy.after = remedy.without;
  if (is_measured) {
    remedy.remark = "measured: the same clips in batches of that many tokens";
    remedy.after = with_tried(profile, model, *tried);
    const bool gives_less = remedy.after.clips_per_second() < remedy.without.clips_per_second();
    if (gives_less) remedy.without = remedy.after;
  } else if (tried != nullptr) {
    remedy.remark = knob->flag + " would pad less, but does not fit";
    remedy.knob.reset();
  }
  return remedy;
}

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
