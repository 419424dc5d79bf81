// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "audio/mel_spectrogram.h"
#include "model/dvae.h"
#include "model/gpt.h"
#include "model/reference_voice.h"
#include "model/speaker_encoder.h"
#include "run/open_model.h"

namespace myxtts {

// The codes [n] of a clip of so many samples from its spectrogram [1, bands, F]: one for each
// `stride` samples or part of that. A clip of whole strides has one frame more than codes; what
// that gives is dropped, as coqui-tts does.
at::Tensor codes_of_clip(const Dvae& dvae, const at::Tensor& mel, std::int64_t samples,
                         std::int64_t stride);

// Everything a model makes of sound, on the CPU. The model outlives it.
class ClipEncoder {
 public:
  ClipEncoder(const OpenModel& model, const ReferenceLengths& lengths);

  // Of the whole of a clip [S].
  at::Tensor mel_dvae(const at::Tensor& clip) const;  // [bands, F]
  at::Tensor mel_cond(const at::Tensor& clip) const;  // [bands, F]
  at::Tensor codes(const at::Tensor& mel) const;      // of mel_dvae(): [n]

  Voice voice(const std::vector<at::Tensor>& clips) const;

  std::int64_t sample_rate() const { return sample_rate_; }

 private:
  std::int64_t sample_rate_;
  ReferenceLengths lengths_;
  const at::Tensor& mel_stats_;
  bool evens_loudness_;
  Dvae dvae_;
  Gpt gpt_;
  SpeakerEncoder speaker_encoder_;
  MelSpectrogram dvae_mel_;
  MelSpectrogram conditioning_mel_;
  ReferenceVoice reference_;
};

}  // namespace myxtts
