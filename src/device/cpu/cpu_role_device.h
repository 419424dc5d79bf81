// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "device/role_device.h"

namespace c10 {
class DataPtr;
}

namespace myxtts {

// A logical CPU device: LibTorch's work of its threads runs on `plan.threads` threads of its own;
// copies and events are done as they are asked for.
//
// What LibTorch takes within a scope, for tensors and for oneDNN's scratch, counts as memory of the
// role until it is given back, by whatever thread; DeviceError where that would go over the role's
// cap. What other libraries take for themselves (plans of FFTs, packed matrices of MKL) is not
// seen.
std::unique_ptr<RoleDevice> open_cpu_role_device(Role role, const RolePlan& plan);

// The role that the memory behind `data` counts as; null: nobody's.
const RoleMemory* counted_owner_of(const c10::DataPtr& data);

}  // namespace myxtts
