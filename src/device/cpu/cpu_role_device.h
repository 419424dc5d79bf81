// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "device/role_device.h"

namespace myxtts {

// A logical CPU device: LibTorch's work of its threads runs on `plan.threads` threads of its own
// and counts as its memory; copies and events are done as they are asked for.
std::unique_ptr<RoleDevice> open_cpu_role_device(Role role, const RolePlan& plan);

}  // namespace myxtts
