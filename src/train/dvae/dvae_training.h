// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/named_tensors.h"
#include "train/parts.h"
#include "train/step/part_training.h"

namespace myxtts {

// How a codebook follows what is looked up in it.
struct CodebookRule {
  double decay = 0.99;             // of the averages, each step
  double least_use = 0.05;         // of the mean use; a code used less begins anew. 0: none does
  std::int64_t begin_steps = 200;  // of a new codebook, before it has averages
  double use_decay = 0.99;         // of the counts that perplexity is computed from
};

struct DvaeTrainingSettings {
  StepSettings step = {};    // in fp32 or tf32
  double commitment = 0.25;  // weight of the commitment loss
  CodebookRule codebook = {};
  std::int64_t windows = 0;  // of each batch; graphs need to know
  std::int64_t frames = 0;   // of each window, a multiple of four
};

// The DVAE while it is trained: encoder and decoder by gradient, the codebook by averages.
//
//   mel ─encode─▶ z ─nearest entries─▶ q ─decode─▶ mel'      loss = |mel - mel'|² + 0.25 |q - z|²
//                 ◀──── gradient ──────┘                     q counts as constant in the second
//
// The gradient of the rounding to codes is passed through as if there were none. Losses, each a
// mean over the windows of a step:
//   reconstruction  squared error of the mel, divided by mel_stats as the network sees it
//   commitment      squared distance of z from its entry
//   perplexity      of the codes' use over the last hundred steps, 1 to the number of codes; of the
//                   batch alone where it is evaluated
//   codes_used      the share of codes that these steps used at all; likewise
//   mel_error       mean |mel - mel'| of the log mel in its own units (nats)
// In fp32, or tf32 for convolutions; the nearest code is always found in fp32.
//
// `weights` has the names of dvae_specs(), fp32, on the CPU; they are copied. A codebook whose
// cluster sizes are all 0 is new: it begins with the first batch. `mel_stats` [bands].
std::unique_ptr<PartTraining> make_dvae_training(const DvaeConfig& config,
                                                 const NamedTensors& weights,
                                                 const at::Tensor& mel_stats, RoleDevice& device,
                                                 const DvaeTrainingSettings& settings);
std::unique_ptr<PartTraining> make_dvae_training(const TrainingInputs& inputs);

}  // namespace myxtts
