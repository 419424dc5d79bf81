// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "clips/clip_list.h"
#include "clips/corpus_folder.h"
#include "clips/cuts.h"
#include "clips/recording.h"
#include "clips/sound_check.h"
#include "clips/speech.h"
#include "clips/voice_activity.h"
#include "clips/voices.h"

namespace myxtts {

// What a clip has to be.
struct ClipSettings {
  CutOptions cuts = {};
  SoundLimits sound = {};
  ConfidenceLimits confidence = {};
  SpeakerRule speakers = {};
};

// A recording with what it sounds like, step by step.
struct OpenedRecording {
  Recording sound;
  SoundCourse course;
};

// Reads a recording and listens to it; `heard` is told the seconds that were read, and then once
// more when speech was looked for in them. Throws as Recording does.
OpenedRecording open_recording(const std::filesystem::path& file,
                               const std::filesystem::path& scratch, const VoiceActivity& activity,
                               const std::function<void(double seconds)>& heard = {});

// What is said in a recording: where its words are, and the text between two times; nothing where
// nobody says anything that is known.
struct SpokenText {
  std::vector<TimedWord> words = {};
  double longest_in_word = kLongestInWord;
  std::function<std::optional<ClipText>(double begin, double end)> between;
};

// Cuts one recording into clips, checks them, and writes the sound of those that are kept to the
// folder. `made` holds its name, file and what it is made from; the rest is filled in. Where
// `voices` is null voices are not told apart. Throws Interrupted.
void cut_recording(const OpenedRecording& recording, const SpokenText& text,
                   const ClipSettings& settings, const VoiceListener* voices,
                   const CorpusFolder& folder, RecordingClips& made);

}  // namespace myxtts
