// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "data/batches/device_batch.h"
#include "model/gpt.h"
#include "model/gpt_batch.h"
#include "model/named_tensors.h"

namespace myxtts {

// The windows [W, D, frames] of what Decoder::frames() gives for the latents [N, D], without the
// frames between them: each is a weighted sum of the four latents that the two stretchings reach.
// The latents of clips lie one after another; of each window's clip `first` [W] is the first and
// `counts` [W] how many it has. `places` [W, frames] are the wanted frames of the clip; those
// behind its last are its last. These three are int64, on the device of the latents. Gives fp32;
// each frame's channels lie together in memory.
at::Tensor frame_windows(const DecoderConfig& config, const at::Tensor& latents,
                         const at::Tensor& first, const at::Tensor& counts,
                         const at::Tensor& places);

// The rows whose states are the decoder's input, and where each clip's are among these.
struct LatentRows {
  GptBatch rows;      // Gpt::states() gives the latents of all clips, one clip after another
  at::Tensor first;   // [slots] int64: a clip's first latent
  at::Tensor counts;  // [slots] int64: how many it has, at least 1; meant for no empty slot
};

// Makes them of the rows that the GPT is trained on, where they are: nothing is read back.
//
// Note [Latents of training rows]
// Synthesis shows the GPT the text's STOP, which training rows leave out, and has no use for the
// last of their stop codes. So codes move on by one place, each row keeps its length, and every
// batch keeps its sizes:
//
//   trained on   [latents | START x1 .. xt      | start c1 .. cn stop stop stop]
//   spoken with  [latents | START x1 .. xt STOP | start c1 .. cn stop stop     ]
//
// The states at start, c1 .. cn are the n + 1 latents that speaking these codes and the stop would
// leave; what stands behind them cannot touch them.
LatentRows latent_rows(const GptConfig& config, const GptBatch& trained, std::int64_t slots);

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
