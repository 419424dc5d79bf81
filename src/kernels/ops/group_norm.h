// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace myxtts {

struct GroupNormWeights {
  const at::Tensor& weight;  // [D]
  const at::Tensor& bias;    // [D]
  std::int64_t groups;       // of neighbouring channels; divides D
};

// Group norm over time and the channels of a group, of data with channels last. Computes in fp32
// whatever the dtype of `x`, and gives that dtype back. Differentiable once.
//
// x [B, F, D] -> [B, F, D]
at::Tensor group_norm(const at::Tensor& x, const GroupNormWeights& norm);

// The expression that the kernels are compared with; what the CPU computes.

namespace plain {

at::Tensor group_norm(const at::Tensor& x, const GroupNormWeights& norm);

}  // namespace plain

inline constexpr double kGroupNormEpsilon = 1e-5;

}  // namespace myxtts
