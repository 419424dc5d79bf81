// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diagnose/profile/profile.h"
#include "diagnose/profile/step_model.h"

namespace myxtts {

// Less than this of a step is not worth a person's time, nor sure to be more than chance.
inline constexpr double kWorthSaying = 0.05;

// What holds the training up, the largest first: each with what the step would be without it, its
// knob, and the gain that follows from the measured times. What comes second is found as if the
// first knob were turned. Where nothing is worth saying: the model itself. See Note [Verdicts
// follow from waiting].
std::vector<Finding> find_causes(const Profile& profile);

}  // namespace myxtts
