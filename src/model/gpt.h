// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/attention.h"
#include "model/conditioning.h"
#include "model/gpt_batch.h"
#include "model/gpt_block.h"
#include "model/layers.h"
#include "model/named_tensors.h"

namespace myxtts {

// The dropout the public model was trained with.
inline constexpr double kGptDropout = 0.1;

struct GptLogits {
  at::Tensor text;   // [Nt, text ids]
  at::Tensor audio;  // [Na, audio ids]
};

// The language model of XTTS v2: reads a prompt's latents and a text, predicts codes.
//
// It computes in the dtype and on the device of its weights and shares their storage. A step is
// conditioning -> states -> logits -> losses (model/gpt.h); none of these waits for the device
// or has a shape that depends on values, so a CUDA graph can hold them all.
class Gpt {
 public:
  Gpt(const GptConfig& config, const NamedTensors& weights, const std::string& prefix = kGptPrefix);

  // From now on each layer keeps only its input for the backward pass and is computed once more
  // there: less memory for a third more time.
  void recompute_layers(RememberRandom remember) { remember_random_ = std::move(remember); }

  // The prompt's latents: mel [B, bands, F] -> [B, latents, D].
  at::Tensor conditioning(const at::Tensor& mel) const;

  // The output of the last layer for every token, before any norm: [N, D].
  at::Tensor hidden(const GptBatch& batch, const at::Tensor& latents, double dropout = 0.0) const;

  // The normalised states where there is a target: [Nt + Na, D], the text's first. For the rows of
  // pack_latent_rows, the decoder's input.
  // Where `guide` is given, it becomes what Note [Text guide] says, over the guided heads.
  at::Tensor states(const GptBatch& batch, const at::Tensor& latents, double dropout = 0.0,
                    GuideSums* guide = nullptr) const;

  GptLogits logits(const GptBatch& batch, const at::Tensor& states) const;

 private:
  Gpt(const GptConfig& config, const TensorScope& tensors);

  at::Tensor embed(const GptBatch& batch, const at::Tensor& latents,
                   double dropout) const;  // [N, D]
  // What leaves the last layer.
  ResidualStream stream(const GptBatch& batch, const at::Tensor& latents, double dropout,
                        GuideSums* guide = nullptr) const;
  ResidualStream through(const GptBlock& block, ResidualStream stream, const GptBatch& batch,
                         double dropout) const;
  bool is_guided(std::size_t layer) const;

  std::int64_t heads_;
  std::int64_t text_position_count_;
  ConditioningEncoder encoder_;
  Perceiver perceiver_;
  at::Tensor text_embedding_;   // [text ids, D]
  at::Tensor audio_embedding_;  // [audio ids, D]
  at::Tensor text_positions_;   // [text positions, D]
  at::Tensor audio_positions_;  // [audio positions, D]
  std::vector<GptBlock> blocks_;
  NormWeights last_layer_norm_;
  NormWeights final_norm_;
  LinearWeights text_head_;
  LinearWeights audio_head_;
  RememberRandom remember_random_;  // empty: layers keep what they computed
};

// What the text loss counts in the sum that is trained; the code loss counts 1.
inline constexpr double kTextLossWeight = 0.01;

// Cross entropies of a batch in fp32. Each mean is over all targets of the whole batch that are not
// ignored, so a long clip counts more than a short one.
struct GptLosses {
  at::Tensor text;          // scalar
  at::Tensor audio;         // scalar
  at::Tensor total;         // scalar: kTextLossWeight · text + audio
  at::Tensor text_tokens;   // [Nt] 0 where the target is ignored
  at::Tensor audio_tokens;  // [Na]
};

GptLosses gpt_losses(const GptBatch& batch, const GptLogits& logits);

// The rows that a new row starts as the mean of: old ones, or new ones before it. Empty: all old
// rows.
using RowSources = std::vector<std::int64_t>;

// The tensors of a GPT that have a row for each text id, without `prefix`.
const std::vector<std::string>& text_id_tensors();

// Those tensors with rows appended, one for each of `new_rows`, in that order. Old rows are the
// same bit for bit, so old texts give the states and code logits they gave; new rows are computed
// in double and rounded once. The weights are left as they are. Throws InternalError for a source
// that does not stand before its row.
NamedTensors grow_vocabulary(const NamedTensors& weights, const std::vector<RowSources>& new_rows,
                             const std::string& prefix = kGptPrefix);

}  // namespace myxtts
