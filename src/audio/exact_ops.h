// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace myxtts {

// Operations that compute in full fp32 even while a trainer in another thread has TF32 switched on
// for the whole process: spectrograms and codes must not depend on how fast a GPT is trained.

struct Conv1dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;  // zeros on each side
  std::int64_t dilation = 1;
};

// input [B, in, S], weight [out, in, kernel], bias [out] or undefined.
at::Tensor exact_conv1d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                        const Conv1dOptions& options = {});

at::Tensor exact_matmul(const at::Tensor& a, const at::Tensor& b);

}  // namespace myxtts
