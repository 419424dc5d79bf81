// SPDX-License-Identifier: Apache-2.0
#include "kernels/training/tensor_checks.h"

namespace myxtts {

std::optional<Number> common_number(std::initializer_list<at::Tensor> tensors) {
  const at::Tensor* first = nullptr;
  for (const auto& tensor : tensors) {
    if (!tensor.defined()) continue;
    if (first == nullptr) first = &tensor;
    if (!tensor.is_cuda() || tensor.device() != first->device() ||
        tensor.scalar_type() != first->scalar_type()) {
      return std::nullopt;
    }
  }
  if (first == nullptr) return std::nullopt;
  switch (first->scalar_type()) {
    case at::kFloat:
      return Number::Fp32;
    case at::kBFloat16:
      return Number::Bf16;
    case at::kHalf:
      return Number::Fp16;
    default:
      return std::nullopt;
  }
}

}  // namespace myxtts
