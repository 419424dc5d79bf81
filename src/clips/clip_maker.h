// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "clips/clip_list.h"
#include "clips/corpus_folder.h"
#include "clips/cuts.h"
#include "clips/recording.h"
#include "clips/voices.h"

namespace myxtts {

// What a clip has to be.
struct ClipSettings {
  CutOptions cuts = {};
  double min_snr = 15.0;        // dB by which the voice is above what is heard in its pauses
  double min_confidence = 0.8;  // of its text; below it a clip is left out
  SpeakerRule speakers = {};
};

// What is said in a recording: where its words are, and the text between two times; nothing where
// nobody says anything that is known.
struct SpokenText {
  std::vector<TimedWord> words = {};
  double longest_in_word = kLongestInWord;
  std::function<std::optional<ClipText>(double begin, double end)> between;
};

// Cuts a recording that was listened to into clips, checks them, and writes the sound of those that
// are kept to the folder. `made` holds its name, file and what it is made from; the rest is filled
// in. Where `voices` is null voices are not told apart. Throws Interrupted.
void cut_recording(const Recording& recording, const SpokenText& text, const ClipSettings& settings,
                   const VoiceListener* voices, const CorpusFolder& folder, RecordingClips& made);

// --- The checks of their sound --------------------------------------------------------------

// Of the stretch between two times, seconds. Silence is looked for four seconds around it.
SoundFigures sound_figures(const SoundCourse& course, double begin, double end);

// The first thing that is wrong with a clip of these figures; `is_tonal` tells whether what is
// heard in its pauses is music. Nothing: it may be kept.
std::optional<LeftOutReason> sound_fault(const SoundFigures& figures, double min_snr,
                                         bool is_tonal);

// Whether sound [S] at kClipRate is held tones, as music is, rather than noise. Mains hum is none.
bool is_tonal(const at::Tensor& sound);

// What loudness all clips get: -23 dB of full scale over the parts of a clip that are at most 25 dB
// below its loudest, and no peak above -1 dB.
inline constexpr double kClipLoudness = -23.0;
at::Tensor at_clip_loudness(const at::Tensor& sound);

}  // namespace myxtts
