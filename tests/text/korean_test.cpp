// SPDX-License-Identifier: Apache-2.0
#include "text/transliteration.h"

#include <string>

#include <gtest/gtest.h>

#include "support/crc32.h"
#include "text/unicode.h"

namespace myxtts::korean_test {
namespace {

constexpr char32_t kFirst = 0xAC00;
constexpr char32_t kFinals = 28;
constexpr char32_t kSyllablesOfAnInitial = 21 * kFinals;
constexpr char32_t kSyllables = 11'172;

std::string text_of(std::initializer_list<char32_t> letters) {
  std::string text;
  for (const char32_t letter : letters) append_code_point(text, letter);
  return text;
}

// Digests by tests/golden/make_korean.py.
TEST(RomaniseKorean, EverySyllableAndEveryMeetingOfTwoEqualThePeers) {
  test::Crc32 syllables;
  for (char32_t index = 0; index < kSyllables; ++index) {
    syllables.add(romanise_korean(text_of({kFirst + index})) + '\n');
  }
  EXPECT_EQ(syllables.value(), 0x80511f44U);

  test::Crc32 pairs;
  for (char32_t final = 0; final < kFinals; ++final) {
    for (char32_t start = 0; start < kSyllables; start += kSyllablesOfAnInitial) {
      pairs.add(romanise_korean(text_of({kFirst + final, kFirst + start})) + '\n');
    }
  }
  EXPECT_EQ(pairs.value(), 0xeea0997eU);
}

TEST(RomaniseKorean, OnlySyllablesThatTouchGetAHyphen) {
  EXPECT_EQ(romanise_korean("할인"), "hal-in");
  EXPECT_EQ(romanise_korean("할 인"), "hal in");
  EXPECT_EQ(romanise_korean("할1인"), "hal1in");
}

TEST(RomaniseKorean, WhatIsNoSyllableStays) {
  EXPECT_EQ(romanise_korean("BTS ㅋㅋ 漢字 é\u11A8"), "BTS ㅋㅋ 漢字 é\u11A8");
  EXPECT_EQ(romanise_korean(""), "");
}

}  // namespace
}  // namespace myxtts::korean_test
