// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/layers.h"
#include "model/named_tensors.h"

namespace myxtts {

// The HiFi-GAN generator: GPT latents and a speaker vector to a waveform.
//
//   latents [B, n, D] ─frames─▶ [B, D, F] ─generate─▶ [B, 1, output_hop · F]
//
// Trains when its tensors ask for gradients at construction (see WeightNormed). Any thread may call
// it; nothing waits for the device and no shape depends on data.
class Decoder {
 public:
  // Shares the tensors named `prefix` + the names of decoder_specs().
  Decoder(const DecoderConfig& config, const NamedTensors& tensors,
          const std::string& prefix = kDecoderPrefix);

  // The waveform [B, 1, S] of latents [B, n, D] in the voice of speaker [B, speaker_dim, 1].
  at::Tensor operator()(const at::Tensor& latents, const at::Tensor& speaker) const;

  // Stretches latents [B, n, D] to the frames [B, D, F] that the generator takes: first to the hop,
  // then to the output rate. One frame stands for output_hop samples, so training crops here.
  at::Tensor frames(const at::Tensor& latents) const;

  // In the arithmetic of `frames` and `speaker`, which may be shorter than the weights'; the last
  // layer, and so the waveform, is in that of the weights.
  at::Tensor generate(const at::Tensor& frames, const at::Tensor& speaker) const;

 private:
  struct ResidualBlock {
    std::int64_t kernel;
    std::vector<WeightNormed> dilated;
    std::vector<WeightNormed> plain;
  };
  struct ModelPart {
    WeightNormed upsample;
    ConvTensors speaker;
    std::vector<ResidualBlock> blocks;
  };

  static ResidualBlock residual_block(const TensorScope& tensors, std::size_t index,
                                      const DecoderConfig& config);
  at::Tensor run_stage(std::size_t index, at::Tensor x, const at::Tensor& speaker) const;
  at::Tensor run_block(const ResidualBlock& block, at::Tensor x) const;

  DecoderConfig config_;
  ConvTensors first_;
  ConvTensors speaker_;
  std::vector<ModelPart> stages_;
  ConvTensors last_;
};

// Latents [B, n, D] stretched so that they are spoken `speed` times as fast; below 0.05 is 0.05.
// [B, 0, D] where so few are not even one at that speed.
at::Tensor change_speed(const at::Tensor& latents, double speed);

}  // namespace myxtts
