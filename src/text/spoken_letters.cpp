// SPDX-License-Identifier: Apache-2.0
#include "text/spoken_letters.h"

#include <cstdint>

#include <unicode/uchar.h>

#include "text/unicode.h"

namespace myxtts {
namespace {

bool can_be_spoken(char32_t letter) {
  constexpr std::uint32_t kNever =
      U_GC_CC_MASK | U_GC_CN_MASK | U_GC_CO_MASK | U_GC_CS_MASK | U_GC_Z_MASK;
  return letter != 0xFFFD && (U_GET_GC_MASK(static_cast<UChar32>(letter)) & kNever) == 0;
}

}  // namespace

std::set<char32_t> spoken_letters(const std::vector<std::string>& sentences) {
  std::set<char32_t> letters;
  for (const std::string& sentence : sentences) {
    for (std::size_t at = 0; at < sentence.size();) {
      const char32_t letter = code_point_at(sentence, at);
      at += static_cast<std::size_t>(U8_LENGTH(letter));
      if (can_be_spoken(letter)) letters.insert(letter);
    }
  }
  return letters;
}

std::string utf8_of(char32_t letter) {
  std::string text;
  append_code_point(text, letter);
  return text;
}

}  // namespace myxtts
