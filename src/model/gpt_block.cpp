// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_block.h"

#include <utility>

#include <ATen/ATen.h>

#include "kernels/training/dropout.h"
#include "model/attention.h"

namespace myxtts {

at::Tensor ResidualStream::settle(const LayerNorm& norm, double dropout) {
  if (!pending.rows.defined()) return norm(x);
  auto both = residual_norm(x, pending, norm.weights(), dropout);
  x = std::move(both.sum);
  pending = {};
  return both.normed;
}

at::Tensor ResidualStream::settled(double dropout) const {
  if (!pending.rows.defined()) return x;
  const auto branch = pending.settled();
  return x + (dropout > 0.0 ? plain::dropout(branch, dropout) : branch);
}

GptBlock::GptBlock(std::int64_t heads, const TensorScope& scope)
    : heads_(heads),
      before_attention_(scope.part("ln_1")),
      qkv_(scope.part("attn.c_attn")),
      attention_out_(scope.part("attn.c_proj")),
      before_mlp_(scope.part("ln_2")),
      mlp_in_(scope.part("mlp.c_fc")),
      mlp_out_(scope.part("mlp.c_proj")) {}

ResidualStream GptBlock::operator()(ResidualStream stream, const GptBatch& batch, double dropout,
                                    at::Tensor* qkv) const {
  const auto seen = stream.settle(before_attention_, dropout);
  const Projection asked = qkv_.project(seen);
  if (qkv != nullptr) *qkv = asked.rows;
  const auto mixed = packed_attention(asked, heads_, batch, dropout);
  stream.pending = attention_out_.project(mixed);
  const auto attended = stream.settle(before_mlp_, dropout);
  stream.pending = gelu_mlp(attended, mlp_in_.weights(), mlp_out_.weights());
  return stream;
}

}  // namespace myxtts
