// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "device/plan/device_plan.h"
#include "diagnose/profile/profile.h"
#include "diagnose/profile/step_model.h"

namespace myxtts {

// A setting with a number, as a flag. Nothing: the configuration does not allow that number, so it
// must not be advised.
std::optional<Knob> number_knob(std::string_view key, std::int64_t value);

// What sets the size of a batch in that plan, for one that is `factor` times as large.
std::optional<Knob> larger_batch(const DevicePlan& plan, std::int64_t factor);

// Whether it sets the size of a batch in that plan.
bool is_batch_knob(const Knob& knob, const DevicePlan& plan);

// A bottleneck of a training, the one setting against it, and the training as it would be with that
// setting.
struct Remedy {
  Cause cause = Cause::ModelBound;
  std::string reason = {};
  std::optional<Knob> knob = {};
  std::string remark = {};
  StepModel without = {};  // the cause, and nothing else: what it costs
  StepModel after = {};    // with the knob turned: what is gained
};

// One for each cause that the model shows any sign of; whether it is worth the trouble is not asked
// here.
std::vector<Remedy> remedies(const Profile& profile, const StepModel& model);

// Those of the step itself, by what was tried.
std::vector<Remedy> step_remedies(const Profile& profile, const StepModel& model);

// What was tried with that setting; null: nothing was.
const Tried* tried_with(const Profile& profile, std::string_view key);
const Tried* tried_with(const Profile& profile, const Knob& knob);

// The training with a setting as it was measured with it; something that cannot be done changes
// nothing.
StepModel with_tried(const Profile& profile, const StepModel& model, const Tried& tried);

// The model's own arithmetic is the bottleneck.
Finding model_bound(const Profile& profile, const StepModel& model);

// A role's memory that is nearly used up: nothing is slow yet, but the next longer clip may end the
// run.
std::optional<Finding> memory_pressure(const Profile& profile);

// The budget of tokens that would fill what is computed with clips. Nothing: too little of it is
// padding to be worth a look, or no budget would change it.
std::optional<Knob> padding_knob(const Profile& profile);

// See Note [What padding costs]. Nothing: there is no padding worth a look.
std::optional<Remedy> padding_remedy(const Profile& profile, const StepModel& model);

// Less than this share of a step is not worth a person's time, nor surely more than noise.
inline constexpr double kWorthReporting = 0.05;

// The bottlenecks of the training, the largest first: each with what the step would be without it,
// its knob, and the gain that follows from the measured times. What comes second is found as if the
// first knob were turned. Where nothing is worth reporting: the model itself. See Note [Verdicts
// follow from waiting].
std::vector<Finding> find_causes(const Profile& profile);

// Settings of the step that are worth trying, because what was measured with the present ones says
// that they may be the better ones: graphs where the host cannot keep a GPU busy, a budget of
// tokens where much is padding, larger batches where each copy waits. What they do to a step cannot
// be worked out. Empty in most cases.
std::vector<Knob> worth_trying(const Profile& profile);

}  // namespace myxtts
