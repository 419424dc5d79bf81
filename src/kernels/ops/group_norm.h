// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/ops/residual_norm.h"

namespace myxtts {

// Group norm over time and the neighbouring channels of a group, of data with channels last;
// `groups` divides D. Computes in fp32 whatever the dtype of `x`, and gives that dtype back.
// Differentiable once.
//
// x [B, F, D] -> [B, F, D]
at::Tensor group_norm(const at::Tensor& x, const NormWeights& norm, std::int64_t groups);

// The expression that the kernels are compared with; what the CPU computes.

namespace plain {

at::Tensor group_norm(const at::Tensor& x, const NormWeights& norm, std::int64_t groups);

}  // namespace plain

inline constexpr double kGroupNormEpsilon = 1e-5;

}  // namespace myxtts
