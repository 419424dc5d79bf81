// SPDX-License-Identifier: Apache-2.0
#include "model/gpt.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace myxtts {

Gpt::Gpt(const GptConfig& config, const NamedTensors& weights, const std::string& prefix)
    : Gpt(config, TensorScope(weights, prefix)) {}

Gpt::Gpt(const GptConfig& config, const TensorScope& tensors)
    : encoder_(config, tensors.part("conditioning_encoder")),
      perceiver_(config, tensors.part("conditioning_perceiver")),
      text_embedding_(tensors["text_embedding.weight"]),
      audio_embedding_(tensors["mel_embedding.weight"]),
      text_positions_(tensors["text_pos_embedding.emb.weight"]),
      audio_positions_(tensors["mel_pos_embedding.emb.weight"]),
      last_layer_norm_(tensors.part("gpt.ln_f")),
      final_norm_(tensors.part("final_norm")),
      text_head_(tensors.part("text_head")),
      audio_head_(tensors.part("mel_head")) {
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    blocks_.emplace_back(config.heads, tensors.part(fmt::format("gpt.h.{}", layer)));
  }
}

at::Tensor Gpt::conditioning(const at::Tensor& mel) const {
  return perceiver_(encoder_(mel.to(text_embedding_.scalar_type())));
}

at::Tensor Gpt::embed(const GptBatch& batch, const at::Tensor& latents) const {
  const auto table = at::cat({text_embedding_, audio_embedding_, latents.flatten(0, 1)});
  const auto nowhere = at::zeros({1, table.size(1)}, table.options());
  const auto places = at::cat({nowhere, text_positions_, audio_positions_});
  return at::embedding(table, batch.tokens) + at::embedding(places, batch.positions);
}

at::Tensor Gpt::hidden(const GptBatch& batch, const at::Tensor& latents, double dropout) const {
  auto x = embed(batch, latents);  // [N, D]
  if (dropout > 0.0) x = at::dropout(x, dropout, /*train=*/true);
  for (const auto& block : blocks_) {
    const auto layer = [&block, batch, dropout](const at::Tensor& in) {
      return block(in, batch, dropout);
    };
    x = remember_random_ ? recomputed(layer, x, remember_random_) : layer(x);
  }
  return x;
}

at::Tensor Gpt::states(const GptBatch& batch, const at::Tensor& latents, double dropout) const {
  const auto wanted = hidden(batch, latents, dropout).index_select(0, batch.target_rows);
  return final_norm_(last_layer_norm_(wanted));  // two norms in a row, as in the checkpoint
}

GptLogits Gpt::logits(const GptBatch& batch, const at::Tensor& states) const {
  const auto parts =
      states.split_with_sizes({batch.text_targets.size(0), batch.audio_targets.size(0)});
  return {.text = text_head_(parts[0]), .audio = audio_head_(parts[1])};
}

}  // namespace myxtts
