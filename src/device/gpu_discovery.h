// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "device/machine.h"

namespace myxtts {

// Asks NVIDIA's management library, opened under `library_name`, for every GPU and how they are
// connected. Never throws for something that is missing or fails: the reason stands in the result.
GpuInventory discover_gpus(const std::string& library_name);

}  // namespace myxtts
