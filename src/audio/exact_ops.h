// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace myxtts {

// Operations that compute in full fp32 even while a trainer in another thread has TF32 switched on
// for the whole process: spectrograms and codes must not depend on how fast a GPT is trained.

// input [B, in, S], weight [out, in, kernel], bias [out] or undefined; `padding` zeros on each
// side.
at::Tensor exact_conv1d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                        std::int64_t stride = 1, std::int64_t padding = 0);

at::Tensor exact_matmul(const at::Tensor& a, const at::Tensor& b);

}  // namespace myxtts
