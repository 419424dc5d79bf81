// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/ops/linear.h"

namespace myxtts {

// Layer norm and what stands before it in a transformer, in one pass over the data. On the CPU, and
// for widths the kernels do not take, the plain expressions of residual_norm_cpu.cpp.

// Scale and shift behind a norm.
struct NormWeights {
  at::Tensor weight;  // [D]
  at::Tensor bias;    // [D]
};

struct NormedSum {
  at::Tensor sum;     // [N, D] x + dropout(branch)
  at::Tensor normed;  // [N, D] layer norm of it
};

// x [N, D]; branch [N, D]. Its backward pass computes the branch's deferred bias gradient.
NormedSum residual_norm(const at::Tensor& x, const Projection& branch, const NormWeights& norm,
                        double dropout);

at::Tensor layer_norm(const at::Tensor& x, const NormWeights& norm);  // [..., D] -> [..., D]

// Layer norm of some rows of x. Row 0 stands for padding: it gets no gradient. Each other row is
// selected once at most.
//
// x [N, D], rows [M] -> [M, D]
at::Tensor selected_norm(const at::Tensor& x, const at::Tensor& rows, const NormWeights& norm);

// The expressions that the kernels are compared with.

namespace plain {

NormedSum residual_norm(const at::Tensor& x, const at::Tensor& branch, const NormWeights& norm,
                        double dropout);
at::Tensor layer_norm(const at::Tensor& x, const NormWeights& norm);
at::Tensor selected_norm(const at::Tensor& x, const at::Tensor& rows, const NormWeights& norm);

}  // namespace plain

inline constexpr double kLayerNormEpsilon = 1e-5;

}  // namespace myxtts
