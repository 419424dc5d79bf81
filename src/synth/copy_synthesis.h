// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "audio/mel_spectrogram.h"
#include "model/dvae.h"
#include "model/gpt.h"
#include "model/reference_voice.h"
#include "model/speaker_encoder.h"
#include "model/vocoder.h"
#include "run/open_model.h"
#include "synth/windowed_vocoder.h"

namespace myxtts {

// Sends recorded clips through all of a model but its choice of codes: the result is the best that
// the GPT could get from the vocoder.
//
//   clip ─▶ DVAE ─▶ codes ─▶ GPT, teacher-forced with them, the text and the clip's own voice
//   ─▶ latents ─▶ vocoder ─▶ sound
//
// One thread at a time.
class CopySynthesis {
 public:
  // Copies the weights to `device`; on the CPU it shares them.
  CopySynthesis(const OpenModel& model, c10::Device device);

  // `clip` [S] at input_rate(), on the CPU; `text` with the language's tag, without start and stop;
  // nothing is read where it is empty. `wanted` is asked now and then; false cancels the work.
  // Gives the samples [S] fp32 on the CPU, undefined where it was cancelled. Throws DataError when
  // the clip is too short or too long for the model.
  at::Tensor operator()(const at::Tensor& clip, std::span<const std::int64_t> text,
                        const std::function<bool()>& wanted = {}) const;

  // The codes that are said for a clip [S].
  std::vector<std::int64_t> codes_of(const at::Tensor& clip) const;

  std::int64_t input_rate() const { return config_.decoder.input_sample_rate; }
  std::int64_t sample_rate() const { return config_.decoder.output_sample_rate; }

 private:
  at::Tensor sound(const at::Tensor& latents, const at::Tensor& speaker,
                   const std::function<bool()>& wanted) const;

  ModelConfig config_;
  ReferenceLengths lengths_;
  c10::Device device_;
  NamedTensors tensors_;  // on the device
  NamedTensors dvae_tensors_;
  Dvae dvae_;
  Gpt gpt_;
  SpeakerEncoder speaker_encoder_;
  ReferenceVoice reference_;
  Decoder decoder_;
  WindowedVocoder vocoder_;
  MelSpectrogram mel_;
};

}  // namespace myxtts
