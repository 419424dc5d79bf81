// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/layers.h"
#include "model/named_tensors.h"

namespace myxtts {

// How many groups the conditioning encoder's norm has: 8 up to 16 channels, 16 up to 64, else 32,
// halved until they divide the channels.
std::int64_t conditioning_groups(std::int64_t channels);

// Group norm over time and the channels of a group, of data with channels last, so that attention
// and matrix products around it need no transposed copies. Computes in fp32 whatever the dtype of
// `x`, and gives that dtype back. Differentiable once.
//
// x [B, F, D], weight and bias [D] -> [B, F, D]
at::Tensor conditioning_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// Turns the mel spectrogram of a prompt into one vector for each frame. Attention goes both ways
// and knows no positions and no padding.
class ConditioningEncoder {
 public:
  ConditioningEncoder(const GptConfig& config, const TensorScope& scope);

  at::Tensor operator()(const at::Tensor& mel) const;  // [B, bands, F] -> [B, F, D]

 private:
  struct Block {
    explicit Block(const TensorScope& scope);

    at::Tensor norm_weight;  // [D]
    at::Tensor norm_bias;    // [D]
    LinearWeights qkv;
    LinearWeights projection;
  };

  std::int64_t heads_;
  LinearWeights entry_;
  std::vector<Block> blocks_;
};

// Reduces any number of frames to a fixed number of latents: learned queries that look at
// themselves and at the frames.
class Perceiver {
 public:
  Perceiver(const GptConfig& config, const TensorScope& scope);

  at::Tensor operator()(const at::Tensor& frames) const;  // [B, F, D] -> [B, latents, D]

 private:
  struct Layer {
    explicit Layer(const TensorScope& scope);

    at::Tensor to_q;         // [heads · head width, D]
    at::Tensor to_kv;        // [2 · heads · head width, D], keys first
    at::Tensor to_out;       // [D, heads · head width]
    LinearWeights gate_in;   // D -> 2 · hidden
    LinearWeights gate_out;  // hidden -> D
  };

  at::Tensor attend(const Layer& layer, const at::Tensor& latents, const at::Tensor& frames) const;

  std::int64_t heads_;
  std::int64_t head_width_;
  at::Tensor latents_;  // [latents, D]
  std::vector<Layer> layers_;
  at::Tensor gamma_;  // [D]
};

}  // namespace myxtts
