// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace myxtts {

// How many samples at `to_rate` a Resampler makes of `samples` at `from_rate`.
std::int64_t resampled_length(std::int64_t samples, std::int64_t from_rate, std::int64_t to_rate);

}  // namespace myxtts
