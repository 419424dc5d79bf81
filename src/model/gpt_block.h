// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "model/gpt_batch.h"
#include "model/layers.h"
#include "model/named_tensors.h"

namespace myxtts {

// Remembers the place in the device's random numbers, and gives what goes back to it.
using RememberRandom = std::function<std::function<void()>()>;

// The usual one, from a generator; not while a CUDA graph is recorded.
RememberRandom remember_generator(const at::Generator& generator);

// Two tensors; the second may be undefined where it goes into a part.
using TensorPair = std::pair<at::Tensor, at::Tensor>;

// part(in), of which only `in` is kept for the backward pass: that computes the part once more,
// with the same random numbers. Gradients of the parameters that the part uses go to them directly.
TensorPair recomputed(const std::function<TensorPair(const TensorPair&)>& part,
                      const TensorPair& in, const RememberRandom& remember);

// What flows from layer to layer: x + dropout(pending). A layer leaves its last addition to the
// norm that follows, which does both in one pass over the data.
struct ResidualStream {
  at::Tensor x;        // [N, D]
  Projection pending;  // [N, D], or undefined: nothing

  // The norm of the sum, which becomes x: nothing is pending then. [N, D]
  at::Tensor add_and_norm(const NormWeights& norm, double dropout);
  // The sum alone. [N, D]
  at::Tensor sum(double dropout) const;
};

// One layer of the GPT-2 transformer on packed rows.
class GptBlock {
 public:
  GptBlock(std::int64_t heads, const TensorScope& scope);

  // `dropout` applies to attention and to what each half adds; 0 to evaluate.
  // Where `qkv` is given, it becomes the queries, keys and values: [N, 3 · D].
  ResidualStream operator()(ResidualStream stream, const GptBatch& batch, double dropout,
                            at::Tensor* qkv = nullptr) const;

 private:
  std::int64_t heads_;
  NormWeights before_attention_;
  LinearWeights qkv_;
  LinearWeights attention_out_;
  NormWeights before_mlp_;
  LinearWeights mlp_in_;
  LinearWeights mlp_out_;
};

}  // namespace myxtts
