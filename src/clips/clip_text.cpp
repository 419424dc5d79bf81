// SPDX-License-Identifier: Apache-2.0
#include "clips/clip_text.h"

#include <algorithm>
#include <cmath>

#include "text/unicode.h"

namespace myxtts {

std::string_view name_of(TextSource source) {
  switch (source) {
    case TextSource::Book:
      return "book";
    case TextSource::Subtitles:
      return "subtitles";
    case TextSource::Transcription:
      break;
  }
  return "transcription";
}

std::vector<TimedWord> words_between(const std::vector<TimedWord>& words, double begin,
                                     double end) {
  const auto place_of = [&](double second) {
    return std::ranges::partition_point(
        words, [&](const TimedWord& word) { return (word.begin + word.end) / 2 < second; });
  };
  return {place_of(begin), place_of(end)};
}

ClipText transcribed_text(const std::vector<TimedWord>& words, double begin, double end) {
  ClipText clip{.source = TextSource::Transcription};
  double letters = 0;
  double right = 0;
  for (const TimedWord& word : words_between(words, begin, end)) {
    clip.text += word.text;
    const auto length = static_cast<double>(count_code_points(strip_spaces(word.text)));
    constexpr double kGuess = 0.2;
    constexpr double kFewLetters = 4;
    if (length >= kFewLetters && word.probability < kGuess) {
      clip.doubt = "The recogniser is not sure of its words.";
    }
    letters += length;
    right += length * word.probability;
  }
  clip.text = strip_spaces(clip.text);
  clip.heard = clip.text;
  // Measured: of three letters that the probabilities give up one is wrong at most.
  constexpr double kWrongOfUnsure = 1.0 / 3;
  clip.confidence = letters == 0 ? 0 : 1 - kWrongOfUnsure * (1 - right / letters);
  return clip;
}

}  // namespace myxtts
