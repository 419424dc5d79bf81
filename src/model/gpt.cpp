// SPDX-License-Identifier: Apache-2.0
#include "model/gpt.h"

#include <memory>
#include <tuple>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/error.h"
#include "kernels/ops/cross_entropy.h"
#include "kernels/ops/packed_embedding.h"
#include "model/named_tensors.h"

namespace myxtts {

Gpt::Gpt(const GptConfig& config, const NamedTensors& weights, const std::string& prefix)
    : Gpt(config, TensorScope(weights, prefix)) {}

Gpt::Gpt(const GptConfig& config, const TensorScope& tensors)
    : heads_(config.heads),
      text_position_count_(config.text_positions()),
      encoder_(config, tensors.part("conditioning_encoder")),
      perceiver_(config, tensors.part("conditioning_perceiver")),
      text_embedding_(tensors["text_embedding.weight"]),
      audio_embedding_(tensors["mel_embedding.weight"]),
      text_positions_(tensors["text_pos_embedding.emb.weight"]),
      audio_positions_(tensors["mel_pos_embedding.emb.weight"]),
      last_layer_norm_(norm_weights(tensors.part("gpt.ln_f"))),
      final_norm_(norm_weights(tensors.part("final_norm"))),
      text_head_(linear_weights(tensors.part("text_head"))),
      audio_head_(linear_weights(tensors.part("mel_head"))) {
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    blocks_.emplace_back(config.heads, tensors.part(fmt::format("gpt.h.{}", layer)));
  }
}

at::Tensor Gpt::conditioning(const at::Tensor& mel) const {
  return perceiver_(encoder_(mel.to(text_embedding_.scalar_type())));
}

at::Tensor Gpt::embed(const GptBatch& batch, const at::Tensor& latents, double dropout) const {
  return packed_embedding({.text = text_embedding_,
                           .codes = audio_embedding_,
                           .latents = latents.flatten(0, 1),
                           .text_positions = text_positions_,
                           .code_positions = audio_positions_},
                          batch.tokens, batch.positions, dropout);
}

// At a third and at two thirds of the way: early enough for others to use what it finds.
bool Gpt::is_guided(std::size_t layer) const {
  return layer == blocks_.size() / 3 || layer == 2 * blocks_.size() / 3;
}

ResidualStream Gpt::through(const GptBlock& block, ResidualStream stream, const GptBatch& batch,
                            double dropout) const {
  if (!remember_random_) return block(std::move(stream), batch, dropout);
  // The bias whose gradient the layer's output defers is a parameter, known once it was computed.
  const auto deferred = std::make_shared<at::Tensor>();
  const auto layer = [&block, batch, dropout, before = stream.pending.deferred_bias,
                      deferred](const TensorPair& in) {
    const Projection pending = {.rows = in.second, .deferred_bias = before};
    auto out = block({.x = in.first, .pending = pending}, batch, dropout);
    *deferred = out.pending.deferred_bias;
    return TensorPair(out.x, out.pending.rows);
  };
  std::tie(stream.x, stream.pending.rows) =
      recomputed(layer, {stream.x, stream.pending.rows}, remember_random_);
  stream.pending.deferred_bias = *deferred;
  return stream;
}

ResidualStream Gpt::stream(const GptBatch& batch, const at::Tensor& latents, double dropout,
                           GuideSums* guide) const {
  ResidualStream stream = {.x = embed(batch, latents, dropout), .pending = {}};
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    if (guide == nullptr || !is_guided(layer)) {
      stream = through(blocks_[layer], std::move(stream), batch, dropout);
      continue;
    }
    at::Tensor qkv;
    stream = blocks_[layer](std::move(stream), batch, dropout, &qkv);
    const GuideSums own = text_guide(qkv, heads_, /*head=*/0, text_position_count_, batch);
    guide->sum = guide->sum.defined() ? guide->sum + own.sum : own.sum;
    guide->count = guide->count.defined() ? guide->count + own.count : own.count;
  }
  return stream;
}

at::Tensor Gpt::hidden(const GptBatch& batch, const at::Tensor& latents, double dropout) const {
  return stream(batch, latents, dropout).sum(dropout);
}

at::Tensor Gpt::states(const GptBatch& batch, const at::Tensor& latents, double dropout,
                       GuideSums* guide) const {
  // Two norms in a row, as in the checkpoint.
  const auto normed =
      stream(batch, latents, dropout, guide).add_and_norm(last_layer_norm_, dropout);
  return selected_norm(normed, batch.target_rows, final_norm_);
}

GptLogits Gpt::logits(const GptBatch& batch, const at::Tensor& states) const {
  const auto parts =
      states.split_with_sizes({batch.text_targets.size(0), batch.audio_targets.size(0)});
  return {.text = linear(parts[0], text_head_), .audio = linear(parts[1], audio_head_)};
}

GptLosses gpt_losses(const GptBatch& batch, const GptLogits& logits) {
  GptLosses losses;
  losses.text_tokens = token_losses(logits.text, batch.text_targets);
  losses.audio_tokens = token_losses(logits.audio, batch.audio_targets);
  losses.text = losses.text_tokens.sum() / batch.text_count;
  losses.audio = losses.audio_tokens.sum() / batch.audio_count;
  losses.total = losses.text * kTextLossWeight + losses.audio;
  return losses;
}

namespace {

// old: [rows, ...] -> [rows + new rows, ...]
at::Tensor with_rows(const at::Tensor& old, const std::vector<RowSources>& new_rows) {
  const std::int64_t old_rows = old.size(0);
  auto shape = old.sizes().vec();
  shape[0] += static_cast<std::int64_t>(new_rows.size());
  auto grown = at::empty(shape, old.options());
  grown.narrow(0, 0, old_rows).copy_(old);
  std::int64_t row = old_rows;
  for (const RowSources& sources : new_rows) {
    for (const std::int64_t source : sources) {
      MYXTTS_CHECK(source >= 0 && source < row, "row {} starts from row {}", row, source);
    }
    const auto from = sources.empty()
                          ? old
                          : grown.index_select(0, at::tensor(sources, at::kLong).to(old.device()));
    grown.select(0, row).copy_(from.to(at::kDouble).mean(0));
    ++row;
  }
  return grown;
}

}  // namespace

const std::vector<std::string>& text_id_tensors() {
  static const std::vector<std::string> names = {"text_embedding.weight", "text_head.weight",
                                                 "text_head.bias"};
  return names;
}

NamedTensors grow_vocabulary(const NamedTensors& weights, const std::vector<RowSources>& new_rows,
                             const std::string& prefix) {
  const at::NoGradGuard no_grad;
  const TensorScope scope(weights, prefix);
  NamedTensors grown;
  for (const std::string& name : text_id_tensors()) {
    grown[prefix + name] = with_rows(scope[name].detach(), new_rows);
  }
  return grown;
}

}  // namespace myxtts
