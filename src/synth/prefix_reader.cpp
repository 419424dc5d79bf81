// SPDX-License-Identifier: Apache-2.0
#include "synth/prefix_reader.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "model/gpt.h"

namespace myxtts {

NamedTensors gpt_weights_on(const NamedTensors& weights, c10::Device device) {
  NamedTensors result;
  for (const auto& [name, tensor] : weights) {
    if (name.starts_with(kGptPrefix)) result[name] = tensor.to(device, at::kFloat).contiguous();
  }
  return result;
}

PrefixReader::PrefixReader(const GptConfig& config, const NamedTensors& weights) : config_(config) {
  const TensorScope scope(weights, kGptPrefix);
  text_embedding_ = scope["text_embedding.weight"];
  text_positions_ = scope["text_pos_embedding.emb.weight"];
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const auto layer = scope.part(fmt::format("gpt.h.{}", i));
    const auto weights_of = [&](const char* part) {
      return linear_weights(layer.part(part), WeightLayout::InOut);
    };
    layers_.push_back({norm_weights(layer.part("ln_1")), weights_of("attn.c_attn"),
                       weights_of("attn.c_proj"), norm_weights(layer.part("ln_2")),
                       weights_of("mlp.c_fc"), weights_of("mlp.c_proj")});
  }
}

at::Tensor PrefixReader::read(at::Tensor x, const Sink& sink) const {
  const auto heads = [&](const at::Tensor& part) {
    return part.view({1, x.size(0), config_.heads, -1}).transpose(1, 2);  // [1, H, N, width]
  };
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const auto parts = linear(layer_norm(x, layer.before_attention), layer.qkv).chunk(3, 1);
    const auto mixed = at::scaled_dot_product_attention(heads(parts[0]), heads(parts[1]),
                                                        heads(parts[2]), {}, 0.0, true);
    x = x + linear(mixed.transpose(1, 2).reshape(x.sizes()), layer.attention_out);
    const auto hidden = at::gelu(linear(layer_norm(x, layer.before_mlp), layer.mlp_in), "tanh");
    x = x + linear(hidden, layer.mlp_out);
    sink(static_cast<std::int64_t>(i), parts[1].contiguous(), parts[2].contiguous());
  }
  return x;
}

at::Tensor PrefixReader::embed(const DecodePrefix& prefix) const {
  const auto count = static_cast<std::int64_t>(prefix.text.size());
  if (count > most_text_tokens(config_)) {
    throw DataError(fmt::format("A text of {} tokens is too long for the model, which takes {}.",
                                count, most_text_tokens(config_)));
  }
  std::vector<std::int64_t> ids = {config_.start_text};
  ids.insert(ids.end(), prefix.text.begin(), prefix.text.end());
  ids.push_back(config_.stop_text);
  const auto device = text_embedding_.device();
  const auto text = text_embedding_.index_select(0, at::tensor(ids, at::kLong).to(device)) +
                    text_positions_.narrow(0, 0, count + 2);
  return at::cat({prefix.latents.to(device, at::kFloat), text});
}

}  // namespace myxtts
