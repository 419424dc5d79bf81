// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diagnose/profile/profile.h"
#include "diagnose/profile/step_model.h"

namespace myxtts {

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
