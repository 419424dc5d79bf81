// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "kernels/training/dropout.h"
#include "kernels/training/packed_embedding.h"

namespace myxtts::plain {

at::Tensor packed_embedding(const EmbeddingWeights& weights, const at::Tensor& tokens,
                            const at::Tensor& positions, double dropout) {
  const auto table = at::cat({weights.text, weights.codes, weights.latents});
  const auto nowhere = at::zeros({1, table.size(1)}, table.options());
  const auto places = at::cat({nowhere, weights.text_positions, weights.code_positions});
  const auto sum = at::embedding(table, tokens) + at::embedding(places, positions);
  return dropout > 0.0 ? plain::dropout(sum, dropout) : sum;
}

}  // namespace myxtts::plain
