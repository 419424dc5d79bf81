// SPDX-License-Identifier: Apache-2.0
#include "model/tensor_scope.h"

#include <utility>

#include "base/error.h"

namespace myxtts {

TensorScope::TensorScope(const NamedTensors& tensors, std::string prefix)
    : tensors_(tensors), prefix_(std::move(prefix)) {}

const at::Tensor& TensorScope::operator[](std::string_view name) const {
  const auto found = tensors_.find(prefix_ + std::string(name));
  MYXTTS_CHECK(found != tensors_.end(), "no tensor {}{} to build a network on", prefix_, name);
  return found->second;
}

TensorScope TensorScope::part(std::string_view name) const {
  return TensorScope(tensors_, prefix_ + std::string(name) + ".");
}

}  // namespace myxtts
