// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "device/role_device.h"

namespace myxtts {

std::unique_ptr<RoleDevice> open_cuda_role_device(Role role, const RolePlan& plan);

}  // namespace myxtts
