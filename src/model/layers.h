// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/training/linear.h"
#include "kernels/training/residual_norm.h"
#include "model/tensor_scope.h"

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

}  // namespace myxtts
