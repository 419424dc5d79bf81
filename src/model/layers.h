// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "kernels/ops/linear.h"
#include "kernels/ops/residual_norm.h"
#include "model/named_tensors.h"
#include "model/tensor_spec.h"

namespace myxtts {

// `weight` and `bias` of the scope. GPT-2's layers have the layout InOut.
NormWeights norm_weights(const TensorScope& scope);
LinearWeights linear_weights(const TensorScope& scope, WeightLayout layout = WeightLayout::OutIn);

// Whether convolutions of x run faster with each place's channels together in memory: a GPU's do in
// half precision, where the other order is copied into this one and back around each of them.
inline bool prefers_channels_last(const at::Tensor& x) {
  return x.is_cuda() && x.scalar_type() != at::kFloat;
}

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
