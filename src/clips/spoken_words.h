// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/language.h"

namespace myxtts {

// A word as it is compared with others: between blanks, hyphens and dashes; in scripts without
// blanks (Chinese, Japanese, Thai, ...) a character. A number keeps its points, and the signs of
// money and per cent at it.
struct WordPlace {
  std::size_t begin = 0;  // bytes of the text
  std::size_t end = 0;
};

std::vector<WordPlace> find_words(std::string_view utf8);

// The letters of words as they are read aloud, see letters_heard(): numbers and abbreviations in
// words. Each different word is read once. One thread at a time.
class SpokenWords {
 public:
  explicit SpokenWords(Language language) : language_(language) {}

  // A number for the letters that the word is read as, the same for equal letters; -1: none are
  // read. With the dot behind it, since that makes an abbreviation of some.
  std::int32_t number(std::string_view text, const WordPlace& word);

  const std::u32string& letters(std::int32_t number) const {
    return letters_[static_cast<std::size_t>(number)];
  }
  // Another way to read it, as an abbreviation or as a year; empty: there is none.
  const std::u32string& other(std::int32_t number) const {
    return others_[static_cast<std::size_t>(number)];
  }

  // How two words differ, in those of their readings that are nearest.
  struct Difference {
    std::int64_t errors = 0;   // letters to change
    std::int64_t letters = 0;  // of the longer one
  };
  Difference difference(std::int32_t a, std::int32_t b) const;

 private:
  std::int32_t number_of(const std::u32string& letters, const std::u32string& other);

  const Language language_;
  std::unordered_map<std::string, std::int32_t> known_;
  std::unordered_map<std::u32string, std::int32_t> numbers_;
  std::vector<std::u32string> letters_;
  std::vector<std::u32string> others_;
};

// Letters to change, add and remove to make one of the other; `most` + 1 where it is more.
std::int64_t letter_errors(std::u32string_view a, std::u32string_view b, std::int64_t most);

}  // namespace myxtts
