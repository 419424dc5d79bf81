// SPDX-License-Identifier: Apache-2.0
#include "model/layers.h"

namespace myxtts {

LayerNorm::LayerNorm(const TensorScope& scope) : weight(scope["weight"]), bias(scope["bias"]) {}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  return layer_norm(x, weights());
}

Linear::Linear(const TensorScope& scope) : weight(scope["weight"]), bias(scope["bias"]) {}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  return linear(x, {.weight = weight, .bias = bias});
}

TransposedLinear::TransposedLinear(const TensorScope& scope)
    : weight(scope["weight"]), bias(scope["bias"]) {}

at::Tensor TransposedLinear::operator()(const at::Tensor& x) const {
  return linear(x, weights());
}

Projection TransposedLinear::project(const at::Tensor& x) const {
  return myxtts::project(x, weights());
}

}  // namespace myxtts
