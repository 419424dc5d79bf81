// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "model/gpt_batch.h"
#include "model/layers.h"
#include "model/tensor_scope.h"

namespace myxtts {

// One layer of the GPT-2 transformer on packed rows.
class GptBlock {
 public:
  GptBlock(std::int64_t heads, const TensorScope& scope);

  // x [N, D] -> [N, D]. `dropout` applies to attention and to what each half adds; 0 to evaluate.
  at::Tensor operator()(const at::Tensor& x, const GptBatch& batch, double dropout) const;

 private:
  std::int64_t heads_;
  LayerNorm before_attention_;
  TransposedLinear qkv_;
  TransposedLinear attention_out_;
  LayerNorm before_mlp_;
  TransposedLinear mlp_in_;
  TransposedLinear mlp_out_;
};

}  // namespace myxtts
