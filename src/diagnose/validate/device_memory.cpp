// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "base/error.h"
#include "diagnose/validate/placement_checks.h"

namespace myxtts {

bool can_take(RoleDevice& device, std::int64_t bytes) {
  const auto scope = device.enter(device.stream());
  const auto on = device.gpu() < 0
                      ? c10::Device(c10::kCPU)
                      : c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device.gpu()));
  try {
    return at::empty({bytes}, at::TensorOptions(on).dtype(at::kByte)).defined();
  } catch (const c10::OutOfMemoryError&) {
    return false;
  } catch (const DeviceError&) {
    return false;
  }
}

}  // namespace myxtts
