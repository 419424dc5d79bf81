// SPDX-License-Identifier: Apache-2.0
#include "audio/exact_ops.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

namespace myxtts {

at::Tensor exact_conv1d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                        std::int64_t stride, std::int64_t padding) {
  const auto& context = at::globalContext();
  return at::_convolution(input, weight, bias, stride, padding, /*dilation=*/1,
                          /*transposed=*/false, /*output_padding=*/0, /*groups=*/1,
                          context.benchmarkCuDNN(),
                          context.deterministicCuDNN() || context.deterministicAlgorithms(),
                          context.userEnabledCuDNN(), /*allow_tf32=*/false);
}

at::Tensor exact_matmul(const at::Tensor& a, const at::Tensor& b) {
  const at::NoTF32Guard full_precision;  // of this thread only
  return at::matmul(a, b);
}

}  // namespace myxtts
