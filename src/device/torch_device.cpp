// SPDX-License-Identifier: Apache-2.0
#include "device/torch_device.h"

#include <string>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/error.h"
#include "device/cpu/cpu_role_device.h"
#include "device/cuda_plugin.h"
#include "device/machine.h"
#include "device/plan/gpu_choice.h"

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

c10::Device open_one_device(DeviceKind kind, std::optional<std::int64_t> gpu,
                            std::string_view typed) {
  if (kind == DeviceKind::Cpu) {
    if (!gpu) return c10::kCPU;
    throw ConfigError("--model-gpu names a GPU, but --device says cpu; leave one out.");
  }
  const GpuInventory inventory = SystemProbe().gpus();
  std::string flags;
  if (kind == DeviceKind::Cuda) flags = fmt::format("--device {}", typed);
  if (gpu) flags += fmt::format("{}--model-gpu {}", flags.empty() ? "" : " ", *gpu);
  const GpuChoice choice(inventory, flags, cuda_fault(find_cuda_plugin()));
  if (choice.size() == 0) return c10::kCPU;
  const PlannedGpu chosen = gpu ? choice.gpu("--model-gpu", *gpu, "--model-gpu 0") : choice.first();
  open_devices({.mode = Mode::Single, .data = {.gpu = chosen}, .model = {.gpu = chosen}});
  return {c10::kCUDA, 0};
}

}  // namespace myxtts
