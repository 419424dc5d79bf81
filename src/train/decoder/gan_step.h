// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "audio/mel_spectrogram.h"
#include "config/model.h"
#include "device/role_device.h"
#include "model/discriminators.h"
#include "model/vocoder.h"
#include "train/decoder/decoder_training.h"
#include "train/decoder/training_windows.h"
#include "train/step/parameters.h"

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
  struct Resolution {
    SpectrumSizes sizes;
    at::Tensor window;   // [fft_size]
    at::Tensor filters;  // [bins, bands]
  };

  static at::Tensor log_mel(const Resolution& resolution, const at::Tensor& sound);

  std::vector<Resolution> resolutions_;
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

using GanWork = std::function<void(const DecoderWindows&)>;

// The two kinds of step, without discriminators and with them, each recorded once as a CUDA graph
// on windows of its own that every batch's are copied to. The GPT in front is not part of them: its
// sizes differ from batch to batch, and it is queued while the step before it still runs.
class GanGraphs {
 public:
  // Runs each kind once, so that LibTorch chooses its kernels, and records it; with progress. Takes
  // `inputs` as its own. The device outlives it. Throws DeviceError where that cannot be done.
  GanGraphs(RoleDevice& device, DecoderWindows inputs, const GanWork& mel_only,
            const GanWork& with_discriminators);
  ~GanGraphs();

  // Windows of the sizes that were recorded.
  void replay(const DecoderWindows& windows, bool with_discriminators);

 private:
  std::unique_ptr<RecordedGraph> record(RoleDevice& device, const GanWork& work);

  DecoderWindows inputs_;
  std::unique_ptr<GraphRecorder> recorder_;  // before its graphs
  std::unique_ptr<RecordedGraph> mel_only_;
  std::unique_ptr<RecordedGraph> with_discriminators_;
};

// Silence, of the sizes that the settings say.
DecoderWindows empty_windows(const DecoderConfig& config, const DecoderTrainingSettings& settings,
                             c10::Device device);

}  // namespace myxtts
