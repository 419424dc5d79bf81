// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/tensor_spec.h"

namespace myxtts {

// The tensors of a convolution or linear layer: `name`.weight of `shape` [out, in, kernel...] and,
// with a bias, `name`.bias [out]; both uniform in ±1/sqrt(fan in).
struct LayerShape {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string explained_by = {};
};
void append_layer(TensorSpecs& specs, const LayerShape& layer);
void append_layer_without_bias(TensorSpecs& specs, const LayerShape& layer);

// The same with weight normalisation: `name`.bias, the gain
// `name`.parametrizations.weight.original0 [shape[0], 1, ...] and the direction
// `name`.parametrizations.weight.original1 of `shape`. The bias has `outputs` values: a transposed
// convolution's weight has its inputs first.
void append_weight_normed(TensorSpecs& specs, const LayerShape& layer, std::int64_t outputs);

// The tensors of a batch normalisation over `channels`.
void append_batch_norm(TensorSpecs& specs, const std::string& name, std::int64_t channels,
                       const std::string& explained_by);

}  // namespace myxtts
