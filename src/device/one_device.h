// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <c10/core/Device.h>

#include "config/run_config.h"

namespace myxtts {

// What a person said about the device of a command that needs only one.
struct OneDeviceWish {
  DeviceKind kind = DeviceKind::Auto;
  std::optional<std::int64_t> gpu = {};  // --model-gpu, counted as training counts it
};

// Opens that device: the GPU asked for, the first one, or the CPU where there is none and none was
// asked for. CUDA sees that GPU alone. Throws ConfigError when the wish contradicts itself,
// DeviceError when the machine cannot fulfil it.
c10::Device open_one_device(const OneDeviceWish& wish);

}  // namespace myxtts
