// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace myxtts {

// How many groups the conditioning encoder's norm has: 8 up to 16 channels, 16 up to 64, else 32,
// halved until they divide the channels.
std::int64_t conditioning_groups(std::int64_t channels);

// Group norm over time and the channels of a group, of data with channels last, so that attention
// and matrix products around it need no transposed copies. Computes in fp32 whatever the dtype of
// `x`, and gives that dtype back. Differentiable once.
//
// x [B, F, D], weight and bias [D] -> [B, F, D]
at::Tensor conditioning_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace myxtts
