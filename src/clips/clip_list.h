// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "listen/word_times.h"

namespace myxtts {

enum class TextSource : std::uint8_t { Book, Subtitles, Transcription };

// "book", "subtitles", "transcription".
std::string_view name_of(TextSource source);

// What is said in a clip, and how sure that is.
struct ClipText {
  TextSource source = TextSource::Transcription;
  std::string text = {};   // as the source spells it, with its signs
  std::string heard = {};  // what the recogniser heard between the clip's edges
  // From 0 to 1: the share of the letters that are expected to be right.
  double confidence = 0;
  // What makes it doubtful, as a whole sentence; empty: nothing.
  std::string doubt = {};
};

// From which confidence on a clip need not be listened to.
inline constexpr double kSureConfidence = 0.97;

// What the words that are heard between two times say, seconds of the recording: those whose middle
// lies there, one after another, with the confidence that their probabilities give. `words` in
// order.
ClipText transcribed_text(const std::vector<TimedWord>& words, double begin, double end);

// Why a stretch of a recording is in no clip: a word for machines, and a sentence.
struct LeftOutReason {
  std::string name = {};      // "noise"
  std::string sentence = {};  // "The voice is 9 dB above the noise, at least 15 dB are wanted."
};

// What a clip sounds like.
struct SoundFigures {
  double level = 0;    // of the voice, dB of full scale
  double snr = 0;      // dB by which it is above what is heard in its pauses
  double clipped = 0;  // share of samples at full scale
  double speech = 0;   // mean probability of speech where it is loud
};

// A clip that was cut; times are seconds of the recording.
struct MadeClip {
  std::string name = {};  // wavs/NAME.wav
  double begin = 0;
  double end = 0;
  ClipText text = {};
  SoundFigures sound = {};
  std::int64_t voice = 0;  // of the voices of its recording
};

// A stretch that is in no clip.
struct LeftOut {
  double begin = 0;
  double end = 0;
  LeftOutReason reason = {};
  std::string text = {};  // what is said there, where it is known
};

// Somebody who speaks in a recording.
struct RecordingVoice {
  std::vector<float> vector = {};  // by the speaker encoder, of length one
  double seconds = 0;
};

// What came of one recording.
struct RecordingClips {
  std::string recording = {};  // its name in the corpus
  std::string file = {};       // as it was given
  std::string made_from = {};  // of what file and with what settings: another run compares it
  std::string error = {};      // why nothing came of it, as a sentence
  std::string damage = {};     // why only its beginning was used, as a sentence
  std::string language = {};   // of its texts
  double seconds = 0;
  double speech_seconds = 0;
  std::vector<MadeClip> clips = {};
  std::vector<LeftOut> left_out = {};
  std::vector<RecordingVoice> voices =
      {};  // from the one that speaks most on; empty: not told apart
};

std::string to_json(const RecordingClips& clips);
// Throws DataError with `subject` for anything that to_json() does not give.
RecordingClips parse_recording_clips(std::string_view json, const std::string& subject);

}  // namespace myxtts
