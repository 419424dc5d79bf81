// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "audio/mel_spectrogram.h"
#include "model/discriminators.h"

namespace myxtts {

// How far sound is from what it should be: the mean distance of the natural logarithms of their mel
// spectra, over four resolutions from 11 to 85 milliseconds and the whole range of frequencies.
// Short windows place a consonant, long ones the overtones of a vowel; a decoder that is trained
// for minutes gets to intelligible speech sooner with all of them than with one.
//
// Tables are made once. Gradients pass; nothing waits for the device.
class MelError {
 public:
  MelError(std::int64_t sample_rate, c10::Device device);

  // Of each window of made [W, S] and wanted [W, S], fp32: [W].
  at::Tensor operator()(const at::Tensor& made, const at::Tensor& wanted) const;

  // The fewest samples a window must have.
  static std::int64_t minimum_samples();

 private:
  // Of each resolution.
  std::vector<at::Tensor> windows_;  // [fft_size]
  std::vector<at::Tensor> filters_;  // [bins, bands]
};

// Least-squares losses of the decoder and its discriminators, as HiFi-GAN has them: of each window
// [W] fp32, means over what a discriminator says about it, summed over the discriminators.

// Of the discriminators: recordings should have 1, what was made 0.
at::Tensor discriminator_loss(const Judgement& recorded, const Judgement& made);

// Of the decoder: what it made should have 1.
at::Tensor adversarial_loss(const Judgement& made);

// Of the decoder: the discriminators' layers should compute the same of both. Distances are means
// over a layer's numbers, and summed over the layers. No gradient goes to `recorded`.
at::Tensor feature_loss(const Judgement& recorded, const Judgement& made);

}  // namespace myxtts
