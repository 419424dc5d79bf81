// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/padding.h"

#include <algorithm>

#include <fmt/format.h>

#include "diagnose/profile/knobs.h"
#include "diagnose/profile/verdict.h"

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

double share_of(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

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

}  // namespace

std::optional<Knob> padding_knob(const Profile& profile) {
  const TrialReading& reading = profile.reading;
  if (reading.batches == 0 || 1 - useful_share(reading) < kWorthSaying) return std::nullopt;
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

}  // namespace myxtts
