// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/profile/profile.h"
#include "diagnose/profile/step_model.h"

namespace myxtts {

// Something that holds a training up, the one knob against it, and the training as it would be once
// that is turned.
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

// Nothing holds the training up but its own arithmetic; with the knob that was found to make that
// faster, where there is one.
Finding model_bound(const Profile& profile, const StepModel& model);

// A role's memory that is nearly used up: nothing is slow yet, but the next longer clip may end the
// run.
std::optional<Finding> memory_pressure(const Profile& profile);

}  // namespace myxtts
