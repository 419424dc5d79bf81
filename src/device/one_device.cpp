// SPDX-License-Identifier: Apache-2.0
#include "device/one_device.h"

#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "device/cuda_plugin.h"
#include "device/machine.h"
#include "device/plan/gpu_choice.h"
#include "device/plan/plan_devices.h"

namespace myxtts {
namespace {

std::string typed(const OneDeviceWish& wish) {
  if (wish.gpu) return fmt::format("--model-gpu {}", *wish.gpu);
  return wish.kind == DeviceKind::Cuda ? "--device cuda" : "";
}

}  // namespace

c10::Device open_one_device(const OneDeviceWish& wish) {
  if (wish.kind == DeviceKind::Cpu) {
    if (!wish.gpu) return c10::kCPU;
    throw ConfigError("--model-gpu names a GPU, but --device says cpu; leave one out.");
  }
  const GpuInventory inventory = SystemProbe().gpus();
  const GpuChoice choice(inventory, typed(wish),
                         cuda_fault(find_cuda_plugin(CudaPluginPlaces::usual())));
  if (choice.size() == 0) return c10::kCPU;
  const PlannedGpu gpu =
      wish.gpu ? choice.gpu("--model-gpu", *wish.gpu, "--model-gpu 0") : choice.first();
  open_devices({.mode = Mode::Single, .data = {.gpu = gpu}, .model = {.gpu = gpu}});
  return {c10::kCUDA, 0};
}

}  // namespace myxtts
