// SPDX-License-Identifier: Apache-2.0
#include "model/network_tensors.h"

#include <utility>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace myxtts {

NetworkTensors::NetworkTensors(const NamedTensors& tensors, std::string prefix,
                               const TensorSpecs& specs)
    : tensors_(tensors), prefix_(std::move(prefix)) {
  std::string faults;
  for (const auto& spec : specs) {
    const auto found = tensors_.find(prefix_ + spec.name);
    if (found == tensors_.end()) {
      faults += fmt::format(" {}{} is missing;", prefix_, spec.name);
    } else if (found->second.sizes() != at::IntArrayRef(spec.shape)) {
      faults += fmt::format(" {}{} is [{}], not [{}];", prefix_, spec.name,
                            fmt::join(found->second.sizes(), ", "), fmt::join(spec.shape, ", "));
    }
  }
  MYXTTS_CHECK(faults.empty(), "a network cannot be built:{}", faults);
}

const at::Tensor& NetworkTensors::operator[](const std::string& name) const {
  const auto found = tensors_.find(prefix_ + name);
  MYXTTS_CHECK(found != tensors_.end(), "no tensor is named {}{}", prefix_, name);
  return found->second;
}

LayerTensors NetworkTensors::layer(const std::string& name) const {
  const auto bias = tensors_.find(prefix_ + name + ".bias");
  return {(*this)[name + ".weight"], bias == tensors_.end() ? at::Tensor() : bias->second};
}

}  // namespace myxtts
