// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "device/role_memory.h"

namespace myxtts {

// What to do when a device is lost in mid-run, for the end of a message.
inline constexpr std::string_view kAfterALostDevice =
    "Checkpoints that were saved are whole: type the same command with --resume once the device "
    "works again.";

// The error that ends a run whose device failed under it. Of the cause the first line counts.
DeviceError failed_device(Role role, const std::string& device, std::string_view cause);

}  // namespace myxtts
