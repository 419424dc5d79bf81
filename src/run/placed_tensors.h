// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "device/role_device.h"
#include "weights/safetensors_writer.h"

namespace myxtts {

// A dense tensor where it lies: on a device or in host memory that somebody else owns.
struct PlacedTensor {
  TensorKind kind = {};
  DeviceBytes place = {};
  std::size_t bytes = 0;
};

using PlacedTensors = std::map<std::string, PlacedTensor, std::less<>>;

}  // namespace myxtts
