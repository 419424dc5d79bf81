// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "kernels/training/linear.h"

namespace myxtts::plain {

at::Tensor linear(const at::Tensor& x, const LinearWeights& weights) {
  if (weights.layout == WeightLayout::InOut) return at::addmm(weights.bias, x, weights.weight);
  return at::linear(x, weights.weight.flatten(1), weights.bias);
}

at::Tensor gelu_mlp(const at::Tensor& x, const LinearWeights& in, const LinearWeights& out) {
  return plain::linear(at::gelu(plain::linear(x, in), "tanh"), out);
}

}  // namespace myxtts::plain
