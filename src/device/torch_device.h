// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "device/role_device.h"

namespace myxtts {

// The LibTorch device of a role.
c10::Device torch_device(const RoleDevice& role);

// The role that took the memory in which a tensor's numbers are; null: none did. Where both roles
// work on one device, a tensor's device does not tell whose it is, and this does: each role's
// memory comes from a source of its own, on the CPU too. Good as long as the role's device.
const RoleMemory* owner_of(const at::Tensor& tensor);

}  // namespace myxtts
