// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "kernels/training/dropout.h"
#include "kernels/training/residual_norm.h"

namespace myxtts::plain {

NormedSum residual_norm(const at::Tensor& x, const at::Tensor& branch, const NormWeights& norm,
                        double dropout) {
  const auto sum = x + (dropout > 0.0 ? plain::dropout(branch, dropout) : branch);
  return {.sum = sum, .normed = plain::layer_norm(sum, norm)};
}

at::Tensor layer_norm(const at::Tensor& x, const NormWeights& norm) {
  return at::layer_norm(x, norm.weight.sizes(), norm.weight, norm.bias, kLayerNormEpsilon);
}

at::Tensor selected_norm(const at::Tensor& x, const at::Tensor& rows, const NormWeights& norm) {
  return plain::layer_norm(x.index_select(0, rows), norm);
}

}  // namespace myxtts::plain
