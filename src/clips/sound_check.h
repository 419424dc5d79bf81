// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "clips/clip_list.h"
#include "clips/recording.h"
#include "clips/speech.h"

namespace myxtts {

// How good a clip has to sound.
struct SoundLimits {
  double min_snr = 15.0;       // dB by which the voice is above what is heard in its pauses
  double max_clipped = 0.002;  // share of samples at full scale
  double min_level = -55.0;    // dB of full scale, of the voice
  double min_speech = 0.6;     // mean probability of speech where the clip is loud
};

// Of the stretch between two times, seconds. Silence is looked for four seconds around it.
SoundFigures sound_figures(const SoundCourse& course, double begin, double end);

// The first thing that is wrong with a clip of these figures; `is_tonal` tells whether what is
// heard in its pauses is music. Nothing: it may be kept.
std::optional<LeftOutReason> sound_fault(const SoundFigures& figures, const SoundLimits& limits,
                                         bool is_tonal);

// What a stretch without speech is: silence, music or noise.
LeftOutReason kind_of_pause(const SoundCourse& course, const Recording& recording, double begin,
                            double end);

// Whether sound [S] at kClipRate is held tones, as music is, rather than noise. Mains hum is none.
bool is_tonal(const at::Tensor& sound);

// What loudness all clips get: -23 dB of full scale over the parts of a clip that are at most 25 dB
// below its loudest, and no peak above -1 dB.
inline constexpr double kClipLoudness = -23.0;
at::Tensor at_clip_loudness(const at::Tensor& sound);

}  // namespace myxtts
