// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_block.h"

#include <ATen/ATen.h>

#include "model/attention.h"

namespace myxtts {
namespace {

at::Tensor drop(const at::Tensor& x, double probability) {
  return probability > 0.0 ? at::dropout(x, probability, /*train=*/true) : x;
}

}  // namespace

GptBlock::GptBlock(std::int64_t heads, const TensorScope& scope)
    : heads_(heads),
      before_attention_(scope.part("ln_1")),
      qkv_(scope.part("attn.c_attn")),
      attention_out_(scope.part("attn.c_proj")),
      before_mlp_(scope.part("ln_2")),
      mlp_in_(scope.part("mlp.c_fc")),
      mlp_out_(scope.part("mlp.c_proj")) {}

at::Tensor GptBlock::operator()(const at::Tensor& x, const GptBatch& batch, double dropout) const {
  const auto mixed = packed_attention(qkv_(before_attention_(x)), heads_, batch, dropout);
  const auto attended = x + drop(attention_out_(mixed), dropout);
  const auto hidden = at::gelu(mlp_in_(before_mlp_(attended)), "tanh");
  return attended + drop(mlp_out_(hidden), dropout);
}

}  // namespace myxtts
