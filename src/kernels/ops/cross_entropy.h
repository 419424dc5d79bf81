// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace myxtts {

inline constexpr std::int64_t kIgnoredTarget = -1;

// The cross entropy of each row in fp32, 0 where the target is kIgnoredTarget. On a GPU no copy of
// the logits in fp32 is made.
//
// logits [N, ids], targets [N] -> [N]
at::Tensor token_losses(const at::Tensor& logits, const at::Tensor& targets);

// The expression that the kernels are compared with; what the CPU computes.

namespace plain {

at::Tensor token_losses(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace plain

}  // namespace myxtts
