// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "config/model.h"
#include "model/named_tensors.h"
#include "train/parts.h"
#include "train/step/part_training.h"

namespace myxtts {

struct SpeakerTrainingSettings {
  StepSettings step = {};     // in fp32 or tf32
  double margin = 0.2;        // in radians, by which the right speaker must be nearer than it is
  double scale = 30.0;        // of cosines, before the softmax
  std::int64_t speakers = 0;  // of the corpus
  std::int64_t windows = 0;   // of each batch; graphs need to know
  std::int64_t samples = 0;   // of each window at 16,000 Hz
};

// The speaker encoder while it is trained to tell the speakers of a corpus apart: each has a
// direction, and a window's vector is to point there by a margin nearer than anywhere else. The
// directions are the optimiser's, not the model's: afterwards only the encoder is used.
//
// Losses, each a mean over the windows of a step:
//   speaker_loss  cross entropy over the speakers; with the margin in training, without it where it
//                 is evaluated
//   accuracy      the share of windows whose nearest direction is their speaker's
//   cosine_gap    how much nearer windows of one speaker are to each other than to others'
//
// `weights` has the names of speaker_encoder_specs() behind kSpeakerEncoderPrefix, among others, on
// the CPU; they are copied. Throws ConfigError when there are fewer than two speakers.
std::unique_ptr<PartTraining> make_speaker_training(const SpeakerEncoderConfig& config,
                                                    const NamedTensors& weights, RoleDevice& device,
                                                    const SpeakerTrainingSettings& settings);
std::unique_ptr<PartTraining> make_speaker_training(const TrainingInputs& inputs);

}  // namespace myxtts
