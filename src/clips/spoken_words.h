// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/language.h"

namespace myxtts {

// A word as it is compared with others: between blanks, hyphens and dashes; in scripts without
// blanks (Chinese, Japanese, Thai, ...) a character. A number keeps its points, and the signs of
// money and per cent at it.
struct SpokenWord {
  std::size_t begin = 0;  // bytes of its text
  std::size_t end = 0;
  std::size_t source = 0;    // whatever the caller numbers its texts by
  std::int32_t number = 0;   // for the letters that it is read as, the same for equal letters
  std::int64_t letters = 0;  // how many
};

// The letters of words as they are read aloud, see letters_heard(): numbers and abbreviations in
// words. Each different word is read once. One thread at a time.
class SpokenWords {
 public:
  explicit SpokenWords(Language language) : language_(language) {}

  // Adds the words of a text of which any letters are read.
  void add_words(std::string_view utf8, std::size_t source, std::vector<SpokenWord>& words);

  const std::u32string& letters(std::int32_t number) const {
    return letters_[static_cast<std::size_t>(number)];
  }
  // Another way to read it, as an abbreviation or as a year; empty: there is none.
  const std::u32string& other(std::int32_t number) const {
    return others_[static_cast<std::size_t>(number)];
  }

  // How two words differ, in those of their readings that are nearest: letters to change, and
  // letters of the longer one.
  std::pair<std::int64_t, std::int64_t> difference(std::int32_t a, std::int32_t b) const;

 private:
  std::int32_t number(std::string_view text, std::size_t begin, std::size_t end);
  std::int32_t number_of(const std::u32string& letters, const std::u32string& other);

  const Language language_;
  std::unordered_map<std::string, std::int32_t> known_;
  std::unordered_map<std::u32string, std::int32_t> numbers_;
  std::vector<std::u32string> letters_;
  std::vector<std::u32string> others_;
};

// Letters to change, add and remove to make one of the other; `most` + 1 where it is more.
std::int64_t letter_errors(std::u32string_view a, std::u32string_view b, std::int64_t most);

// Words of one sequence that are words of another: one and one, or one that is written as several.
struct WordMatch {
  std::size_t first = 0;  // of the first sequence
  std::size_t first_count = 1;
  std::size_t second = 0;
  std::size_t second_count = 1;
  std::int64_t errors = 0;   // letters to change
  std::int64_t letters = 0;  // of the longer side
};

// Which words of two sequences, numbers that `spoken` gave, are the same, in order: as many letters
// as possible, in as few stretches as possible. Of a passage that stands twice in the second
// sequence it takes the later. Few matches among many words that have none are taken for chance and
// left out. Time grows with the length, and with the square of passages that nothing divides; where
// such a one has more than 2,000 words on both sides it has no matches.
std::vector<WordMatch> match_words(std::span<const std::int32_t> first,
                                   std::span<const std::int32_t> second, const SpokenWords& spoken);

}  // namespace myxtts
