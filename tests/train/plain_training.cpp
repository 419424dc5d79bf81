// SPDX-License-Identifier: Apache-2.0
#include "train/plain_training.h"

#include <ATen/ATen.h>

#include "device/cpu/cpu_role_device.h"

namespace myxtts::test {

std::unique_ptr<RoleDevice> one_cpu() {
  return open_cpu_role_device(Role::Model, {.threads = 1});
}

GptTrainingSettings plain_settings() {
  GptTrainingSettings settings;
  settings.dropout = 0.0;
  settings.slots = 8;
  return settings;
}

bool same_tensors(const NamedTensors& a, const NamedTensors& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a) {
    const auto other = b.find(name);
    if (other == b.end() || !at::equal(tensor, other->second)) return false;
  }
  return true;
}

NamedTensors cloned(const NamedTensors& tensors) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) result.emplace(name, tensor.clone());
  return result;
}

}  // namespace myxtts::test
