// SPDX-License-Identifier: Apache-2.0
#include "model/conditioning.h"

#include <cmath>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/error.h"
#include "kernels/attention/attention.h"
#include "kernels/ops/group_norm.h"

namespace myxtts {

std::int64_t conditioning_groups(std::int64_t channels) {
  std::int64_t groups = channels <= 16 ? 8 : channels <= 64 ? 16 : 32;
  while (channels % groups != 0) groups /= 2;
  MYXTTS_CHECK(groups > 2, "{} channels do not divide into more than two groups", channels);
  return groups;
}

at::Tensor conditioning_norm(const at::Tensor& x, const at::Tensor& weight,
                             const at::Tensor& bias) {
  return group_norm(x, {.weight = weight, .bias = bias}, conditioning_groups(x.size(2)));
}

ConditioningEncoder::Block::Block(const TensorScope& scope)
    : norm_weight(scope["norm.weight"]),
      norm_bias(scope["norm.bias"]),
      qkv(linear_weights(scope.part("qkv"))),
      projection(linear_weights(scope.part("proj_out"))) {}

ConditioningEncoder::ConditioningEncoder(const GptConfig& config, const TensorScope& scope)
    : heads_(config.heads), entry_(linear_weights(scope.part("init"))) {
  for (std::int64_t block = 0; block < config.conditioning_blocks; ++block) {
    blocks_.emplace_back(scope.part(fmt::format("attn.{}", block)));
  }
}

at::Tensor ConditioningEncoder::operator()(const at::Tensor& mel) const {
  auto x = linear(mel.transpose(1, 2), entry_);  // [B, F, D]
  for (const auto& block : blocks_) {
    // The residual is the normalised input, as in coqui-tts, not the input itself.
    const auto normed = conditioning_norm(x, block.norm_weight, block.norm_bias);
    const auto qkv = split_project(normed.flatten(0, 1), block.qkv);  // [B · F, D]
    const auto mixed = frame_attention(qkv.branch, x.size(0), heads_);
    x = linear_onto(qkv.past, mixed, block.projection).view(x.sizes());
  }
  return x;
}

namespace {

constexpr double kLongLatents = 1000.0;

// The gate is the second half, and its gelu is the exact one.
at::Tensor gated(const at::Tensor& x) {
  const auto halves = x.chunk(2, -1);
  return halves[0] * at::gelu(halves[1], "none");
}

at::Tensor length_of(const at::Tensor& x) {
  return at::linalg_vector_norm(x, 2, at::IntArrayRef{-1}, /*keepdim=*/true, at::kFloat);
}

// Note [The leash of the latents]
// Nothing in a layer is normalised, and what leaves the last one is scaled to one length. So no
// loss minds how long latents are; every step of AdamW makes them a little longer, as a step
// sideways does, and each layer squares that. By gradients of chance and a rate of 4e-4 they grow a
// hundredfold in 500 steps, until attention's scores are so large that its gradient is not finite
// while the loss still is. So where latents are longer than kLongLatents times what they are scaled
// to, their gradient is given a part along themselves, as long as the gradient itself for each
// factor of e beyond. That part is 0 where the gradient is, so it depends on no other clip of the
// batch. Shorter latents have the gradient that they have.
void leash(const at::Tensor& latents, const at::Tensor& length, double target) {
  if (!latents.requires_grad()) return;
  const auto finite = length.detach().clamp(1e-12, 1e30);
  const auto pull = (finite / (target * kLongLatents)).log().clamp_min(0.0) / finite;
  latents.register_hook([latents = latents.detach(), pull](const at::Tensor& gradient) {
    return gradient + (latents * (length_of(gradient) * pull)).to(gradient.scalar_type());
  });
}

// To length sqrt(D), then by gamma: no mean square with an epsilon inside the root, but a floor
// under the length.
at::Tensor scale_to_length(const at::Tensor& x, const at::Tensor& gamma) {
  const auto length = length_of(x);
  const double target = std::sqrt(static_cast<double>(x.size(-1)));
  leash(x, length, target);
  return (x / length.clamp_min(1e-12)).mul(target).to(x.scalar_type()) * gamma;
}

}  // namespace

Perceiver::Layer::Layer(const TensorScope& scope)
    : to_q(scope["0.to_q.weight"]),
      to_kv(scope["0.to_kv.weight"]),
      to_out(scope["0.to_out.weight"]),
      gate_in(linear_weights(scope.part("1.0"))),
      gate_out(linear_weights(scope.part("1.2"))) {}

Perceiver::Perceiver(const GptConfig& config, const TensorScope& scope)
    : heads_(config.perceiver_heads),
      head_width_(config.perceiver_head_width),
      latents_(scope["latents"]),
      gamma_(scope["norm.gamma"]) {
  for (std::int64_t layer = 0; layer < config.perceiver_depth; ++layer) {
    layers_.emplace_back(scope.part(fmt::format("layers.{}", layer)));
  }
}

at::Tensor Perceiver::operator()(const at::Tensor& frames) const {
  auto latents = latents_.expand({frames.size(0), -1, -1});  // [B, latents, D]
  for (const auto& layer : layers_) {
    latents =
        latents + linear(attend(layer, latents, frames), {.weight = layer.to_out, .bias = {}});
    latents = latents + linear(gated(linear(latents, layer.gate_in)), layer.gate_out);
  }
  return scale_to_length(latents, gamma_);
}

at::Tensor Perceiver::attend(const Layer& layer, const at::Tensor& latents,
                             const at::Tensor& frames) const {
  const std::int64_t batch = latents.size(0);
  const std::int64_t queries = latents.size(1);
  const auto context = at::cat({latents, frames}, 1);  // [B, latents + F, D]
  const auto q = linear(latents, {.weight = layer.to_q, .bias = {}})
                     .view({batch, queries, heads_, head_width_});
  const auto kv = linear(context, {.weight = layer.to_kv, .bias = {}})
                      .view({batch, context.size(1), 2, heads_, head_width_})
                      .unbind(2);
  const auto mixed = at::scaled_dot_product_attention(q.transpose(1, 2), kv[0].transpose(1, 2),
                                                      kv[1].transpose(1, 2));
  return mixed.transpose(1, 2).reshape({batch, queries, -1});  // [B, latents, heads · width]
}

}  // namespace myxtts
