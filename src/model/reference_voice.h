// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "audio/mel_spectrogram.h"
#include "audio/resample.h"
#include "model/gpt.h"
#include "model/speaker_encoder.h"

namespace myxtts {

// How much of reference clips is listened to, in samples.
struct ReferenceLengths {
  std::int64_t of_each = 0;        // what is taken of each clip, from its start
  std::int64_t for_latents = 0;    // of all clips one after another, for the latents; 0: all
  std::int64_t latents_piece = 0;  // a piece of that
};

// A voice, as the GPT and the decoder take it.
struct Voice {
  at::Tensor latents;  // [latents, D]
  at::Tensor speaker;  // [speaker_dim]
};

// The shortest piece that says enough about a voice: 0.33 s, in samples.
std::int64_t shortest_reference_piece(std::int64_t sample_rate);

// Makes voices of reference clips: the GPT's conditioning averaged over pieces of the clips, and
// the speaker vector averaged over the clips. The mean of speaker vectors is not scaled to length
// one again. The networks and mel_stats outlive it.
class ReferenceVoice {
 public:
  ReferenceVoice(const Gpt& gpt, const SpeakerEncoder& speaker_encoder, const at::Tensor& mel_stats,
                 std::int64_t sample_rate, std::int64_t speaker_sample_rate);

  // Takes clips [S] at the sample rate, on the device of the networks. Pieces shorter than
  // shortest_reference_piece(), such as a last one, are left out; one must remain.
  Voice operator()(const std::vector<at::Tensor>& clips, const ReferenceLengths& lengths) const;

 private:
  at::Tensor latents(const at::Tensor& samples, std::int64_t piece) const;
  at::Tensor speaker(const std::vector<at::Tensor>& clips) const;

  const Gpt& gpt_;
  const SpeakerEncoder& speaker_encoder_;
  const at::Tensor& mel_stats_;
  std::int64_t sample_rate_;
  MelSpectrogram mel_;
  Resampler to_speaker_rate_;
};

}  // namespace myxtts
