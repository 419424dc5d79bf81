// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "config/networks.h"

namespace myxtts {

// Which of the decoder's frames are wanted, of which of the clips whose latents lie one after
// another; int64, on the device of the latents.
struct WantedFrames {
  at::Tensor first_latent;  // [W] of the window's clip
  at::Tensor latents;       // [W] how many the clip has
  at::Tensor first_frame;   // [W] the window's
  std::int64_t frames = 0;  // of each window
};

// The windows [W, D, frames] of what Decoder::frames() gives for the latents [N, D], without the
// frames between them: each is a weighted sum of the four latents that the two stretchings reach.
// Frames behind a clip's last are its last. fp32; each frame's channels lie together in memory.
at::Tensor frame_windows(const DecoderConfig& config, const at::Tensor& latents,
                         const WantedFrames& wanted);

}  // namespace myxtts
