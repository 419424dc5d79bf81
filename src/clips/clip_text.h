// SPDX-License-Identifier: Apache-2.0
#pragma once

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

// Below the first a clip is left out, below the second it is kept and listed for a listen.
struct ConfidenceLimits {
  double kept = 0.8;
  double sure = 0.97;
};

// The words that are heard between two times, seconds of the recording: those whose middle lies
// there. `words` in order.
std::vector<TimedWord> words_between(const std::vector<TimedWord>& words, double begin, double end);

// Transcription alone: the words one after another, with the confidence that their probabilities
// give.
ClipText transcribed_text(const std::vector<TimedWord>& words, double begin, double end);

}  // namespace myxtts
