// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "device/device_plan.h"

namespace myxtts {

// Puts plan.json into a run directory, whole or not at all. Throws DataError.
void write_plan(const DevicePlan& plan, const std::filesystem::path& run_directory);

}  // namespace myxtts
