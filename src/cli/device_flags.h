// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <c10/core/Device.h>

namespace CLI {
class App;
}

namespace myxtts {

// Where a model speaks: --device, --model-gpu and --threads.
struct DeviceFlags {
  std::string device = "auto";
  std::optional<std::int64_t> model_gpu;
  std::optional<int> threads;
};

// The flags outlive the app.
void declare_device_flags(CLI::App& app, DeviceFlags& flags);

// Throws ConfigError for values that cannot be.
void check(const DeviceFlags& flags);

// Takes the threads and opens the device that the flags name. Throws ConfigError or DeviceError.
c10::Device open_device(const DeviceFlags& flags);

}  // namespace myxtts
