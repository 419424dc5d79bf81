// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"
#include "model/tensor_scope.h"
#include "model/tensor_spec.h"

namespace myxtts {

// What a convolution or linear layer computes with. The bias is undefined where it has none.
struct ConvTensors {
  at::Tensor weight;
  at::Tensor bias;
};

// `weight` and `bias` of the scope.
ConvTensors conv_tensors(const TensorScope& scope);

// Throws InternalError that names every tensor of `specs` that is missing or has another shape:
// what comes from files was checked, with better words, when it was read.
void check_tensors(const NamedTensors& tensors, const std::string& prefix,
                   const TensorSpecs& specs);

}  // namespace myxtts
