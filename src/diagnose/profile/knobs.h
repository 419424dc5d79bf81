// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "device/device_plan.h"
#include "diagnose/profile/trial_reading.h"

namespace myxtts {

// A setting with a number, as a flag. Nothing: the configuration does not allow that number, and
// nobody must be told to type it.
std::optional<Knob> number_knob(std::string_view key, std::int64_t value);

// What sets the size of a batch in that plan, for one that is `factor` times as large.
std::optional<Knob> larger_batch(const DevicePlan& plan, std::int64_t factor);

// Whether it sets the size of a batch in that plan.
bool is_batch_knob(const Knob& knob, const DevicePlan& plan);

}  // namespace myxtts
