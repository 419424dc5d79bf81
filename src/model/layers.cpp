// SPDX-License-Identifier: Apache-2.0
#include "model/layers.h"

#include <ATen/ATen.h>

namespace myxtts {
namespace {

constexpr double kLayerNormEpsilon = 1e-5;

}  // namespace

LayerNorm::LayerNorm(const TensorScope& scope) : weight(scope["weight"]), bias(scope["bias"]) {}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  return at::layer_norm(x, weight.sizes(), weight, bias, kLayerNormEpsilon);
}

Linear::Linear(const TensorScope& scope) : weight(scope["weight"]), bias(scope["bias"]) {}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  return at::linear(x, weight.flatten(1), bias);
}

TransposedLinear::TransposedLinear(const TensorScope& scope)
    : weight(scope["weight"]), bias(scope["bias"]) {}

at::Tensor TransposedLinear::operator()(const at::Tensor& x) const {
  return at::addmm(bias, x, weight);
}

}  // namespace myxtts
