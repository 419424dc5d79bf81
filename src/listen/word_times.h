// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "listen/whisper_vocabulary.h"

namespace myxtts {

// A word and where it is heard, in seconds from the sound's start. Signs belong to the word that
// they stand at. Before a word that follows a blank the text has that blank, so that all words one
// after another are the text, in languages that write none too.
struct TimedWord {
  std::string text = {};
  double begin = 0;
  double end = 0;
  double probability = 0;  // mean of its tokens
};

// Tokens that together are a word of a text.
struct TokenWord {
  std::string text = {};
  std::size_t first = 0;
  std::size_t count = 0;
};

// Whether a language, by Whisper's code, is written with blanks between its words: not Chinese,
// Japanese, Thai, ...
bool has_blanks(std::string_view language);

// The words of tokens of text (no times among them), each token in exactly one. A word is never cut
// inside a character. Where the language has blanks a word starts with one or is a sign; where it
// has none every token that ends with a whole character is a word.
std::vector<TokenWord> split_into_words(const WhisperVocabulary& vocabulary,
                                        std::span<const std::int64_t> tokens,
                                        std::string_view language);

// Signs that open are joined to the word behind them, those that close to the word before; the
// times are the word's, without what the sign took.
void join_signs(std::vector<TimedWord>& words);

// What the decoder attends to through a pause makes the words beside it long. Words at the end of a
// sentence and behind `last_speech`, seconds, last at most twice as long as usual after this; then
// join_signs().
void shorten_at_pauses(std::vector<TimedWord>& words, double last_speech);

// Dynamic time warping: the way through `likeness` [rows · columns] from its first to its last
// corner, by steps to the next row, the next column or both, on which the sum is highest. Gives the
// column at which each row is entered.
std::vector<std::int64_t> warp(std::span<const float> likeness, std::size_t rows,
                               std::size_t columns);

}  // namespace myxtts
