// SPDX-License-Identifier: Apache-2.0
#include "session/run_devices.h"

#include <ATen/ATen.h>

namespace myxtts {
namespace {

c10::Device torch_device(const RoleDevice& device) {
  return device.gpu() < 0 ? c10::Device(c10::kCPU)
                          : c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device.gpu()));
}

}  // namespace

RunDevices::RunDevices(const DevicePlan& plan, const OpenModel& network)
    : data(open_role_device(Role::Data, plan.data)),
      model(open_role_device(Role::Model, plan.model)) {
  const auto scope = data->enter(data->stream());
  try {
    const auto device = torch_device(*data);
    NamedTensors tensors;
    for (const auto& [name, tensor] : network.dvae) tensors.emplace(name, tensor.to(device));
    dvae = std::make_unique<Dvae>(network.config.dvae, tensors);
    mel_stats = network.model.at("mel_stats").to(device);
  } catch (const c10::Error&) {
    data->rethrow();
  }
}

}  // namespace myxtts
