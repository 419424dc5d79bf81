// SPDX-License-Identifier: Apache-2.0
#include "model/conv_tensors.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace myxtts {

ConvTensors conv_tensors(const TensorScope& scope) {
  return {scope["weight"], scope["bias"]};
}

void check_tensors(const NamedTensors& tensors, const std::string& prefix,
                   const TensorSpecs& specs) {
  std::string faults;
  for (const auto& spec : specs) {
    if (spec.role == TensorRole::Counter) continue;  // nothing computes with them
    const auto found = tensors.find(prefix + spec.name);
    if (found == tensors.end()) {
      faults += fmt::format(" {}{} is missing;", prefix, spec.name);
    } else if (found->second.sizes() != at::IntArrayRef(spec.shape)) {
      faults += fmt::format(" {}{} is [{}], not [{}];", prefix, spec.name,
                            fmt::join(found->second.sizes(), ", "), fmt::join(spec.shape, ", "));
    }
  }
  MYXTTS_CHECK(faults.empty(), "a network cannot be built:{}", faults);
}

}  // namespace myxtts
