// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/networks.h"
#include "model/decoder.h"
#include "model/discriminators/discriminators.h"
#include "train/decoder/decoder_training_settings.h"
#include "train/decoder/mel_error.h"
#include "train/decoder/window_maker.h"
#include "train/parameters.h"

namespace myxtts {

// The losses of windows, fp32, in the order in which they are reported. Those that the
// discriminators have part in are 0 until they do.
struct GanLosses {
  at::Tensor mel;
  at::Tensor feature;
  at::Tensor adversarial;
  at::Tensor discriminator;
};

// Forward and backward of the decoder and its discriminators on windows.
//
// Note [Both sides at once]
// The discriminators judge what was made once. Two backward passes go through that judgement: one
// to the discriminators' parameters, one to the waveform and on to the decoder's. So both sides
// learn from the same judgement, before either moves; it saves a fifth of the step, the gradients
// of several batches can be added up, and both updates can be left out together.
class GanStep {
 public:
  // Both sets of parameters outlive it; the discriminators' names begin with their prefix.
  GanStep(const DecoderConfig& config, const Parameters& decoder, const Parameters& discriminators,
          const DecoderTrainingSettings& settings);

  // Adds gradients to those of both sides' parameters, or, without discriminators, to the
  // decoder's. Gives the weighted means of the losses over the windows: scalars.
  GanLosses pass(const DecoderWindows& windows, bool with_discriminators) const;

  // Of each window [W]: no gradient, nothing is changed.
  GanLosses measure(const DecoderWindows& windows, bool with_discriminators) const;

  // What the decoder's side of such losses is weighed to.
  template <typename Number>
  Number total(const Number& mel, const Number& feature, const Number& adversarial) const {
    return settings_.mel_weight * mel + settings_.feature_weight * feature + adversarial;
  }

 private:
  at::Tensor made_of(const DecoderWindows& windows) const;  // [W, S]
  void on_the_way() const;

  const DecoderTrainingSettings settings_;
  const at::ScalarType dtype_;
  const Decoder decoder_;
  const Discriminators discriminators_;
  const MelError mel_error_;
  std::vector<at::Tensor> judges_;  // the discriminators' parameters
};

// Before each name of a discriminator's tensor.
inline constexpr const char* kDiscriminatorPrefix = "discriminator.";

}  // namespace myxtts
