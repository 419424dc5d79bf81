// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"
#include "model/tensor_spec.h"

namespace myxtts {

// A convolution or linear layer. The bias is undefined where the layer has none.
struct LayerTensors {
  at::Tensor weight;
  at::Tensor bias;
};

// The tensors of one network within a checkpoint: `prefix` goes before every name. The map and the
// specs outlive it.
class NetworkTensors {
 public:
  // Throws InternalError that names every tensor of `specs` that is missing or has another shape:
  // what comes from files was checked, with better words, when it was read.
  NetworkTensors(const NamedTensors& tensors, std::string prefix, const TensorSpecs& specs);

  // Shares the storage of the tensor in the map.
  const at::Tensor& operator[](const std::string& name) const;

  // `name`.weight with `name`.bias, where there is one.
  LayerTensors layer(const std::string& name) const;

 private:
  const NamedTensors& tensors_;
  std::string prefix_;
};

}  // namespace myxtts
