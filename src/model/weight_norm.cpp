// SPDX-License-Identifier: Apache-2.0
#include "model/weight_norm.h"

#include <ATen/ATen.h>

namespace myxtts {

WeightNormed::WeightNormed(const NetworkTensors& tensors, const std::string& name)
    : gain_(tensors[name + ".parametrizations.weight.original0"]),
      direction_(tensors[name + ".parametrizations.weight.original1"]),
      bias_(tensors[name + ".bias"]) {
  if (!gain_.requires_grad() && !direction_.requires_grad()) {
    folded_ = at::_weight_norm(direction_, gain_, 0);
  }
}

at::Tensor WeightNormed::weight() const {
  return folded_.defined() ? folded_ : at::_weight_norm(direction_, gain_, 0);
}

at::Tensor weight_norm_gain(const at::Tensor& direction) {
  return at::norm_except_dim(direction, 2, 0);
}

}  // namespace myxtts
