// SPDX-License-Identifier: Apache-2.0
#include "model/weight_norm.h"

#include <ATen/ATen.h>

namespace myxtts {

WeightNormed::WeightNormed(const TensorScope& scope)
    : gain_(scope["parametrizations.weight.original0"]),
      direction_(scope["parametrizations.weight.original1"]),
      bias_(scope["bias"]) {
  if (!gain_.requires_grad() && !direction_.requires_grad()) {
    folded_ = at::_weight_norm(direction_, gain_, 0);
  }
}

at::Tensor WeightNormed::weight() const {
  return folded_.defined() ? folded_ : at::_weight_norm(direction_, gain_, 0);
}

}  // namespace myxtts
