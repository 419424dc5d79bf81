// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace myxtts {

// Linear layers whose bias, gelu and gradients of the bias are computed inside the matrix products.
// On the CPU, and in fp32, the plain expressions of linear_cpu.cpp.

// How a weight is stored: as torch.nn.Linear has it, or as GPT-2's Conv1D.
enum class WeightLayout { OutIn, InOut };

struct LinearWeights {
  at::Tensor weight;  // [out, in], with ones behind it perhaps, or [in, out]
  at::Tensor bias;    // [out], or undefined
  WeightLayout layout = WeightLayout::OutIn;
};

// Note [Deferred bias gradient]
// The gradient of a bias is the sum over rows of the gradient of what it was added to. The
// operation that takes the rows makes that gradient, row after row, and can sum it on the way; a
// matrix product would have to read it all once more. So the layer leaves the sum to that
// operation.
struct Projection {
  at::Tensor rows;           // [N, out] with the bias added
  at::Tensor deferred_bias;  // [out] whose gradient the operation that takes the rows computes

  // The rows for an operation that does not do so: autograd computes the bias's gradient.
  at::Tensor with_bias_gradient() const;
};

// [..., in] -> [..., out]
at::Tensor linear(const at::Tensor& x, const LinearWeights& weights);

// residual + linear(x), added inside the product.
//
// [N, in], [N, out] -> [N, out]
at::Tensor linear_onto(const at::Tensor& residual, const at::Tensor& x,
                       const LinearWeights& weights);

// [N, in] -> [N, out]
Projection project(const at::Tensor& x, const LinearWeights& weights);

// A projection of x, and x for what comes past it: the gradients of both are added inside the
// product of the backward pass.
struct SplitProjection {
  Projection branch;
  at::Tensor past;  // x
};
SplitProjection split_project(const at::Tensor& x, const LinearWeights& weights);

// out(gelu(in(x))) with tanh's gelu, of weights [in, out].
//
// [N, D] -> [N, D]
Projection gelu_mlp(const at::Tensor& x, const LinearWeights& in, const LinearWeights& out);

// The expressions that the kernels are compared with.

namespace plain {

at::Tensor linear(const at::Tensor& x, const LinearWeights& weights);
at::Tensor gelu_mlp(const at::Tensor& x, const LinearWeights& in, const LinearWeights& out);

}  // namespace plain

}  // namespace myxtts
