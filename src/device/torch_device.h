// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "config/run_config.h"
#include "device/role_device.h"

namespace myxtts {

// The LibTorch device of a role.
c10::Device torch_device(const RoleDevice& role);

// The role that took the memory in which a tensor's numbers are; null: none did. Where both roles
// work on one device, a tensor's device does not say whose it is, and this does: each role's
// memory comes from a source of its own, on the CPU too. Good as long as the role's device.
const RoleMemory* owner_of(const at::Tensor& tensor);

// Opens the device of a command that needs only one: the GPU asked for (--model-gpu, counted as
// training counts it), the first one, or the CPU where there is none and none was asked for. CUDA
// sees that GPU alone. Throws ConfigError when `kind` and `gpu` contradict each other, DeviceError
// when the machine has no such device.
// Messages call a GPU that was asked for by `kind` as it was typed.
c10::Device open_one_device(DeviceKind kind, std::optional<std::int64_t> gpu = {},
                            std::string_view typed = "cuda");

}  // namespace myxtts
