// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/gpt_batch.h"

namespace myxtts {

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

}  // namespace myxtts
