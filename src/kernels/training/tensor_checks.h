// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include <ATen/core/Tensor.h>

#include "kernels/training/cuda_kernels.h"

namespace myxtts {

// The kind of number that all of these tensors hold on one GPU; nothing where they are elsewhere,
// differ or hold another kind. Undefined ones are passed over.
std::optional<Number> common_number(std::initializer_list<at::Tensor> tensors);

// A tensor's memory, or null for an undefined one.
inline void* pointer(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr() : nullptr;
}

}  // namespace myxtts
