// SPDX-License-Identifier: Apache-2.0
#include "model/conditioning_encoder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "model/conditioning_norm.h"

namespace myxtts {

ConditioningEncoder::Block::Block(const TensorScope& scope)
    : norm_weight(scope["norm.weight"]),
      norm_bias(scope["norm.bias"]),
      qkv(scope.part("qkv")),
      projection(scope.part("proj_out")) {}

ConditioningEncoder::ConditioningEncoder(const GptConfig& config, const TensorScope& scope)
    : heads_(config.heads), entry_(scope.part("init")) {
  for (std::int64_t block = 0; block < config.conditioning_blocks; ++block) {
    blocks_.emplace_back(scope.part(fmt::format("attn.{}", block)));
  }
}

at::Tensor ConditioningEncoder::operator()(const at::Tensor& mel) const {
  auto x = entry_(mel.transpose(1, 2));  // [B, F, D]
  for (const auto& block : blocks_) {
    // The residual is the normalised input, as in the peer, not the input itself.
    const auto normed = conditioning_norm(x, block.norm_weight, block.norm_bias);
    x = normed + block.projection(attend(block, normed));
  }
  return x;
}

at::Tensor ConditioningEncoder::attend(const Block& block, const at::Tensor& x) const {
  const std::int64_t batch = x.size(0);
  const std::int64_t frames = x.size(1);
  // Channels are split into heads first and into query, key and value inside each head.
  const auto parts = block.qkv(x).view({batch, frames, heads_, 3, -1}).unbind(3);
  const auto mixed = at::scaled_dot_product_attention(
      parts[0].transpose(1, 2), parts[1].transpose(1, 2), parts[2].transpose(1, 2));
  return mixed.transpose(1, 2).reshape({batch, frames, -1});  // [B, F, D]
}

}  // namespace myxtts
