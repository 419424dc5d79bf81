// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "diagnose/profile/profile.h"

namespace myxtts {

// Several lines for a terminal: speed, stages, thresholds, grade, verdict, knob.
std::string describe(const Profile& profile);

// One object; docs/guides/profile.md has the schema.
std::string to_json(const Profile& profile);

// A page with the same numbers and pictures of them; needs nothing but itself.
std::string to_html(const Profile& profile);

}  // namespace myxtts
