// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "kernels/ops/linear.h"
#include "kernels/ops/residual_norm.h"
#include "model/named_tensors.h"
#include "model/tensor_spec.h"

namespace myxtts {

// Scale and shift after normalising the last dimension.
struct LayerNorm {
  explicit LayerNorm(const TensorScope& scope);
  at::Tensor operator()(const at::Tensor& x) const;  // [..., D] -> [..., D]
  NormWeights weights() const { return {.weight = weight, .bias = bias}; }

  at::Tensor weight;  // [D]
  at::Tensor bias;    // [D]
};

// y = x Wᵀ + b with W [out, in], or [out, in, 1] where the checkpoint has a convolution of width 1.
struct Linear {
  explicit Linear(const TensorScope& scope);
  at::Tensor operator()(const at::Tensor& x) const;  // [..., in] -> [..., out]

  at::Tensor weight;  // [out, in] or [out, in, 1]
  at::Tensor bias;    // [out]
};

// GPT-2's layer: y = x W + b with W stored [in, out].
struct TransposedLinear {
  explicit TransposedLinear(const TensorScope& scope);
  at::Tensor operator()(const at::Tensor& x) const;  // [N, in] -> [N, out]
  Projection project(const at::Tensor& x) const;     // the same
  LinearWeights weights() const {
    return {.weight = weight, .bias = bias, .layout = WeightLayout::InOut};
  }

  at::Tensor weight;  // [in, out]
  at::Tensor bias;    // [out]
};

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
