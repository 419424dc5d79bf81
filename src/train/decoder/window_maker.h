// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "data/device_batch.h"
#include "model/gpt.h"
#include "model/named_tensors.h"

namespace myxtts {

// What the decoder is trained on: its input, and the recording that should come of it. fp32.
struct DecoderWindows {
  at::Tensor frames;   // [W, D, frames], each frame's channels together in memory
  at::Tensor speaker;  // [W, speaker_dim, 1]
  at::Tensor sound;    // [W, frames · output_hop]
  at::Tensor weights;  // [W] 1, or 0 for a window that does not count
};

// The frozen GPT in front of the decoder: makes windows of a batch as synthesis would have them,
// were it to speak the batch's codes. No gradient, no dropout; nothing waits for the device.
class WindowMaker {
 public:
  // `weights` has the GPT's tensors behind kGptPrefix, among others; they are copied.
  WindowMaker(const ModelConfig& config, const NamedTensors& weights, c10::Device device,
              at::ScalarType dtype);

  DecoderWindows operator()(const DeviceBatch& batch) const;

  // The latents of all clips one after another [N, D]; where each clip's are is in latent_rows.h.
  at::Tensor latents(const GptBatch& latent_rows, const at::Tensor& prompt_mel) const;

 private:
  ModelConfig config_;
  Gpt gpt_;
};

}  // namespace myxtts
