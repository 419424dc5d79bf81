// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace myxtts {

// What the rows of a packed batch are looked up in. A token is a row of [text; codes; latents], a
// position a row of [zeros; text positions; code positions]. Each latent belongs to one token at
// most.
struct EmbeddingWeights {
  at::Tensor text;            // [text ids, D]
  at::Tensor codes;           // [code ids, D]
  at::Tensor latents;         // [latents of the batch, D]
  at::Tensor text_positions;  // [text positions, D]
  at::Tensor code_positions;  // [code positions, D]
};

// dropout(token + position) for each row; its gradients are summed in the order of the rows.
//
// tokens [N], positions [N] -> [N, D]
at::Tensor packed_embedding(const EmbeddingWeights& weights, const at::Tensor& tokens,
                            const at::Tensor& positions, double dropout);

// The expression that the kernels are compared with; what the CPU computes.

namespace plain {

at::Tensor packed_embedding(const EmbeddingWeights& weights, const at::Tensor& tokens,
                            const at::Tensor& positions, double dropout);

}  // namespace plain

}  // namespace myxtts
