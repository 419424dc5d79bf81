// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "config/model.h"
#include "config/run_config.h"
#include "model/named_tensors.h"
#include "train/parts.h"
#include "train/step/part_training.h"

namespace myxtts {

// How the decoder is trained. The defaults are made for a voice from nothing within minutes.
struct DecoderTrainingSettings {
  // The precision is that of the decoder's and the discriminators' layers, and not fp16. Weights,
  // the waveform and the losses are fp32 with each of them.
  StepSettings step = {.weight_decay = 0.0};
  Moments moments = Moments::Fp32;

  std::int64_t windows = 32;        // of a batch
  std::int64_t window_frames = 32;  // of output_hop samples each

  // The discriminators take part behind this step. Until then the mel error alone is trained, which
  // is several times as fast and brings the first words.
  std::int64_t mel_only_steps = 2000;
  double mel_weight = 45;
  double feature_weight = 2;
};

// The decoder while it is trained: from the latents of the frozen GPT and a speaker vector to sound
// whose mel spectra are those of the recording, and which the discriminators take for one. See
// docs/internals/parts.md.
//
// A batch has rows with codes, prompts, and sound windows with their voices. Nothing is random but
// the discriminators' first weights.
//
// Losses: "mel_loss", "feature_loss", "adversarial_loss" and "discriminator_loss";
// StepNumbers::loss is what the decoder is trained for, the weighted sum of the first three.
// Validation compares the mel error alone: the others are measured against discriminators that
// change, so they cannot tell which of two checkpoints is the better one.
//
// `weights` has the names of gpt_specs() behind kGptPrefix and of decoder_specs() behind
// kDecoderPrefix, fp32, on the CPU; they are copied. Throws ConfigError for a setting that cannot
// be, DeviceError when memory does not suffice.
std::unique_ptr<PartTraining> make_decoder_training(const ModelConfig& config,
                                                    const NamedTensors& weights, RoleDevice& device,
                                                    const DecoderTrainingSettings& settings);
std::unique_ptr<PartTraining> make_decoder_training(const TrainingInputs& inputs);

}  // namespace myxtts
