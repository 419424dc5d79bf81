// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "synth/sampling_settings.h"

namespace myxtts {

// What a model's config.json says about sampling, and the peer's own defaults where it says
// nothing. `subject` names the file in the DataError of a value that cannot be used.
SamplingSettings parse_sampling_settings(std::string_view json, const std::string& subject);

}  // namespace myxtts
