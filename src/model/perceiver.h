// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/layers.h"
#include "model/tensor_scope.h"

namespace myxtts {

// Boils any number of frames down to a fixed number of latents: learned queries that look at
// themselves and at the frames.
class Perceiver {
 public:
  Perceiver(const GptConfig& config, const TensorScope& scope);

  at::Tensor operator()(const at::Tensor& frames) const;  // [B, F, D] -> [B, latents, D]

 private:
  struct Layer {
    explicit Layer(const TensorScope& scope);

    at::Tensor to_q;    // [heads · head width, D]
    at::Tensor to_kv;   // [2 · heads · head width, D], keys first
    at::Tensor to_out;  // [D, heads · head width]
    Linear gate_in;     // D -> 2 · hidden
    Linear gate_out;    // hidden -> D
  };

  at::Tensor attend(const Layer& layer, const at::Tensor& latents, const at::Tensor& frames) const;

  std::int64_t heads_;
  std::int64_t head_width_;
  at::Tensor latents_;  // [latents, D]
  std::vector<Layer> layers_;
  at::Tensor gamma_;  // [D]
};

}  // namespace myxtts
