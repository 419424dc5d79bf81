// SPDX-License-Identifier: Apache-2.0
#include "model/conditioning_encoder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "kernels/training/frame_attention.h"
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
    const auto qkv = split_project(normed.flatten(0, 1),  // [B · F, D]
                                   {.weight = block.qkv.weight, .bias = block.qkv.bias});
    const auto mixed = frame_attention(qkv.branch, x.size(0), heads_);
    x = linear_onto(qkv.past, mixed,
                    {.weight = block.projection.weight, .bias = block.projection.bias})
            .view(x.sizes());
  }
  return x;
}

}  // namespace myxtts
