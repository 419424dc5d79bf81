// SPDX-License-Identifier: Apache-2.0
#include "device/torch_device.h"

namespace myxtts {

c10::Device torch_device(const RoleDevice& role) {
  if (role.gpu() < 0) return c10::Device(c10::kCPU);
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(role.gpu())};
}

}  // namespace myxtts
