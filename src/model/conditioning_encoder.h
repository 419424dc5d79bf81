// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/layers.h"
#include "model/tensor_scope.h"

namespace myxtts {

// Turns the mel spectrogram of a prompt into one vector for each frame. Attention goes both ways
// and knows no positions and no padding.
class ConditioningEncoder {
 public:
  ConditioningEncoder(const GptConfig& config, const TensorScope& scope);

  at::Tensor operator()(const at::Tensor& mel) const;  // [B, bands, F] -> [B, F, D]

 private:
  struct Block {
    explicit Block(const TensorScope& scope);

    at::Tensor norm_weight;  // [D]
    at::Tensor norm_bias;    // [D]
    Linear qkv;
    Linear projection;
  };

  std::int64_t heads_;
  Linear entry_;
  std::vector<Block> blocks_;
};

}  // namespace myxtts
