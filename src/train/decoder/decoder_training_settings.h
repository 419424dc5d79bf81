// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "config/train.h"
#include "train/optimiser_settings.h"

namespace myxtts {

// How the decoder is trained. The defaults are made for a voice from nothing within minutes.
struct DecoderTrainingSettings {
  // Of the decoder's and the discriminators' layers: decided, not Auto, and not fp16. Weights, the
  // waveform and the losses are fp32 with each of them.
  Precision precision = Precision::Fp32;
  UpdateSettings update = {.beta1 = 0.8, .beta2 = 0.99, .weight_decay = 0.0};  // of both sides
  Moments moments = Moments::Fp32;

  std::int64_t windows = 32;        // of a batch
  std::int64_t window_frames = 32;  // of output_hop samples each

  // The discriminators take part behind this step. Until then the mel error alone is trained, which
  // is several times as fast and brings the first words.
  std::int64_t mel_only_steps = 2000;
  double mel_weight = 45;
  double feature_weight = 2;

  std::uint64_t seed = 0;           // of the discriminators
  std::int64_t batches_a_step = 1;  // --grad-accum
  bool graphs = false;              // record the step as a CUDA graph
  bool deterministic = false;       // only operations that give equal results each time

  // Called again and again in each pass, where graphs are not asked for. What it throws ends the
  // step, whose batch then counts as never seen; afterwards only weights(), optimiser() and
  // restore() may be called.
  std::function<void()> on_the_way = {};
};

}  // namespace myxtts
