// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "model/tensor_scope.h"

namespace myxtts {

// A layer whose weight is a direction scaled to a length: weight = direction · gain / ‖direction‖,
// the norm over everything but the first dimension.
//
// Where neither part asks for gradients when the layer is made, the weight is computed once and
// later changes of the parts are not seen; otherwise it is computed anew each time, so that
// training reaches both parts.
class WeightNormed {
 public:
  // Takes parametrizations.weight.original0 and original1, and bias.
  explicit WeightNormed(const TensorScope& scope);

  at::Tensor weight() const;
  const at::Tensor& bias() const { return bias_; }

 private:
  at::Tensor gain_;
  at::Tensor direction_;
  at::Tensor bias_;
  at::Tensor folded_;  // undefined while training
};

}  // namespace myxtts
