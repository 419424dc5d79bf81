// SPDX-License-Identifier: Apache-2.0
#include "device/torch_device.h"

#include <ATen/ATen.h>

#include "device/cpu/cpu_role_device.h"
#include "device/cuda_plugin.h"
#include "device/role_device.h"

namespace myxtts {

c10::Device torch_device(const RoleDevice& role) {
  if (role.gpu() < 0) return c10::Device(c10::kCPU);
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(role.gpu())};
}

const RoleMemory* owner_of(const at::Tensor& tensor) {
  if (!tensor.has_storage()) return nullptr;
  const c10::DataPtr& data = tensor.storage().data_ptr();
  if (tensor.is_cpu()) return counted_owner_of(data);
  return require_cuda().owner_of(data.get());
}

std::unique_ptr<RoleDevice> open_role_device(Role role, const RolePlan& plan) {
  return plan.gpu ? require_cuda().open_role(role, plan) : open_cpu_role_device(role, plan);
}

}  // namespace myxtts
