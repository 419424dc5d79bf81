// SPDX-License-Identifier: Apache-2.0
#include "support/every_tensor_matters.h"

#include <ATen/ATen.h>

#include "support/formula_weights.h"

namespace myxtts::test {

std::vector<std::string> tensors_without_effect(
    const NamedTensors& tensors,
    const std::function<at::Tensor(const NamedTensors& tensors)>& outputs) {
  const auto before = outputs(tensors);
  const double noise = 1e-6 * before.abs().max().item<double>();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    auto changed = tensors;
    changed.at(name) =
        at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false)
            ? tensor + 1
            : tensor * (formula_values("change." + name, tensor.sizes().vec()) * 0.01 + 1);
    const auto effect = (outputs(changed) - before).abs().max().item<double>();
    if (!(effect > noise)) names.push_back(name);
  }
  return names;
}

}  // namespace myxtts::test
