// SPDX-License-Identifier: Apache-2.0
#include "device/role_device.h"

#include "device/cpu/cpu_role_device.h"
#include "device/cuda_plugin.h"

namespace myxtts {

std::unique_ptr<RoleDevice> open_role_device(Role role, const RolePlan& plan) {
  return plan.gpu ? require_cuda().open_role(role, plan) : open_cpu_role_device(role, plan);
}

}  // namespace myxtts
