// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include "device/role_device.h"

namespace myxtts {

// The LibTorch device of a role.
c10::Device torch_device(const RoleDevice& role);

}  // namespace myxtts
