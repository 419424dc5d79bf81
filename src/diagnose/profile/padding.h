// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "diagnose/profile/profile.h"
#include "diagnose/profile/remedies.h"

namespace myxtts {

// The budget of tokens that would fill what is computed with clips. Nothing: too little of it is
// padding to be worth a look, or no budget would change it.
std::optional<Knob> padding_knob(const Profile& profile);

// See Note [What padding costs]. Nothing: there is no padding worth a look.
std::optional<Remedy> padding_remedy(const Profile& profile, const StepModel& model);

}  // namespace myxtts
