// SPDX-License-Identifier: Apache-2.0
#include "text/korean.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <unicode/utf8.h>

#include "text/unicode.h"

namespace myxtts {
namespace {

using namespace std::string_view_literals;

constexpr std::array kInitials = {"g"sv,  "kk"sv, "n"sv, "d"sv,  "tt"sv, "l"sv, "m"sv,
                                  "b"sv,  "pp"sv, "s"sv, "ss"sv, ""sv,   "j"sv, "jj"sv,
                                  "ch"sv, "k"sv,  "t"sv, "p"sv,  "h"sv};
constexpr std::array kVowels = {"a"sv,  "ae"sv, "ya"sv, "yae"sv, "eo"sv, "e"sv,  "yeo"sv,
                                "ye"sv, "o"sv,  "wa"sv, "wae"sv, "oe"sv, "yo"sv, "u"sv,
                                "wo"sv, "we"sv, "wi"sv, "yu"sv,  "eu"sv, "ui"sv, "i"sv};
constexpr std::array kFinals = {""sv,   "g"sv,  "kk"sv, "gs"sv, "n"sv,  "nj"sv, "nh"sv,
                                "d"sv,  "l"sv,  "lg"sv, "lm"sv, "lb"sv, "ls"sv, "lt"sv,
                                "lp"sv, "lh"sv, "m"sv,  "b"sv,  "bs"sv, "s"sv,  "ss"sv,
                                "ng"sv, "j"sv,  "ch"sv, "k"sv,  "t"sv,  "p"sv,  "h"sv};
// A final and an initial that together look like another pair.
constexpr std::array kAmbiguous = {"bss"sv, "gss"sv, "jj"sv, "kk"sv, "kkk"sv, "lpp"sv, "lss"sv,
                                   "ltt"sv, "njj"sv, "pp"sv, "ss"sv, "sss"sv, "tt"sv};

constexpr char32_t kFirstSyllable = 0xAC00;
constexpr char32_t kLastSyllable = 0xD7A3;

bool needs_hyphen(std::string_view final, std::string_view initial) {
  if (initial.empty()) return true;
  return std::any_of(kAmbiguous.begin(), kAmbiguous.end(), [&](std::string_view pair) {
    return pair.size() == final.size() + initial.size() && pair.starts_with(final) &&
           pair.ends_with(initial);
  });
}

}  // namespace

std::string romanise_korean(std::string_view text) {
  std::string result;
  std::string_view final_before;
  bool after_syllable = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t letter = code_point_at(text, at);
    const auto length = static_cast<std::size_t>(U8_LENGTH(letter));
    const bool syllable = letter >= kFirstSyllable && letter <= kLastSyllable;
    if (syllable) {
      const std::size_t index = letter - kFirstSyllable;
      const auto initial = kInitials[index / 588];
      if (after_syllable && needs_hyphen(final_before, initial)) result += '-';
      final_before = kFinals[index % 28];
      result.append(initial).append(kVowels[index / 28 % 21]).append(final_before);
    } else {
      result.append(text.substr(at, length));
    }
    after_syllable = syllable;
    at += length;
  }
  return result;
}

}  // namespace myxtts
