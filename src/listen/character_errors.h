// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace myxtts {

// What is heard of a text, letter by letter: compatible forms as one (NFKC), lower case, numbers,
// abbreviations and symbols in words as they are read in the language, without punctuation and
// blanks; without the vowel signs that Arabic and Persian leave out, ё as е in Russian. Chinese,
// Japanese and Korean keep their digits.
std::u32string letters_heard(std::string_view utf8, std::string_view language);

struct CharacterErrors {
  std::int64_t errors = 0;      // letters to change, add and remove
  std::int64_t characters = 0;  // letters of the text that was wanted

  // May be above 1. Of a text without letters: 0 where nothing was heard, else 1.
  double rate() const;

  CharacterErrors& operator+=(const CharacterErrors& other);
};

// Both as letters_heard() gives them. Throws ConfigError for what is no code of a language.
CharacterErrors character_errors(std::string_view wanted, std::string_view heard,
                                 std::string_view language);

}  // namespace myxtts
