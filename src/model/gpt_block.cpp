// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_block.h"

#include <utility>

#include <ATen/ATen.h>

#include "model/attention.h"

namespace myxtts {

at::Tensor ResidualStream::settle(const LayerNorm& norm, double dropout) {
  if (!pending.defined()) return norm(x);
  auto both = residual_norm(x, pending, norm.weights(), dropout);
  x = std::move(both.sum);
  pending.reset();
  return both.normed;
}

at::Tensor ResidualStream::settled(double dropout) const {
  if (!pending.defined()) return x;
  return x + (dropout > 0.0 ? at::dropout(pending, dropout, /*train=*/true) : pending);
}

GptBlock::GptBlock(std::int64_t heads, const TensorScope& scope)
    : heads_(heads),
      before_attention_(scope.part("ln_1")),
      qkv_(scope.part("attn.c_attn")),
      attention_out_(scope.part("attn.c_proj")),
      before_mlp_(scope.part("ln_2")),
      mlp_in_(scope.part("mlp.c_fc")),
      mlp_out_(scope.part("mlp.c_proj")) {}

ResidualStream GptBlock::operator()(ResidualStream stream, const GptBatch& batch,
                                    double dropout) const {
  const auto seen = stream.settle(before_attention_, dropout);
  stream.pending = attention_out_(packed_attention(qkv_(seen), heads_, batch, dropout));
  const auto attended = stream.settle(before_mlp_, dropout);
  stream.pending = gelu_mlp(attended, mlp_in_.weights(), mlp_out_.weights());
  return stream;
}

}  // namespace myxtts
