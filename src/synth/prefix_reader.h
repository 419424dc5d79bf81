// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/layers.h"
#include "model/named_tensors.h"
#include "synth/decode_engine.h"

namespace myxtts {

// The tensors of the GPT alone, dense fp32 on `device`: what engines are built on.
NamedTensors gpt_weights_on(const NamedTensors& weights, c10::Device device);

// Reads what stands before a row's codes by LibTorch, on the device of the weights it shares.
class PrefixReader {
 public:
  // `weights` as gpt_weights_on() gives them.
  PrefixReader(const GptConfig& config, const NamedTensors& weights);

  // [latents | START text STOP] as the first layer takes it, [N, D]. Throws DataError when the text
  // is longer than the model allows.
  at::Tensor embed(const DecodePrefix& prefix) const;

  // Keys and values of layer `layer`, [N, D] each, contiguous.
  using Sink =
      std::function<void(std::int64_t layer, const at::Tensor& keys, const at::Tensor& values)>;

  // Hands each layer's keys and values of the inputs x [N, D] to the sink; gives the last layer's
  // output [N, D].
  at::Tensor read(at::Tensor x, const Sink& sink) const;

 private:
  struct Layer {
    NormWeights before_attention;
    LinearWeights qkv;
    LinearWeights attention_out;
    NormWeights before_mlp;
    LinearWeights mlp_in;
    LinearWeights mlp_out;
  };

  GptConfig config_;
  at::Tensor text_embedding_;  // [text ids, D]
  at::Tensor text_positions_;  // [text positions, D]
  std::vector<Layer> layers_;
};

}  // namespace myxtts
