// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diagnose/profile/profile.h"

namespace myxtts {

// Settings of the step that are worth trying, because what was measured with the present ones says
// that they may be the better ones: graphs where the host cannot keep a GPU busy, a budget of
// tokens where much is padding, larger batches where each copy waits. What they do to a step cannot
// be worked out. Empty in most cases.
std::vector<Knob> worth_trying(const Profile& profile);

}  // namespace myxtts
