// SPDX-License-Identifier: Apache-2.0
#include "listen/character_errors.h"

#include <gtest/gtest.h>

namespace myxtts::character_errors_test {
namespace {

std::int64_t errors(std::string_view wanted, std::string_view heard, std::string_view language) {
  return character_errors(wanted, heard, language).errors;
}

TEST(CharacterErrors, PunctuationCaseAndBlanksDoNotCount) {
  EXPECT_EQ(errors("Well, \"wood-cutters\"!", "well wood cutters", "en"), 0);
  EXPECT_EQ(errors("ﬁve Ｆｕｌｌ", "five full", "en"), 0) << "compatible forms are one";
}

TEST(CharacterErrors, NumbersCountAsTheyAreRead) {
  EXPECT_EQ(errors("Chapter 42.", "chapter forty-two", "en"), 0);
  EXPECT_EQ(errors("Kapitel 42.", "Kapitel zweiundvierzig", "de"), 0);
  EXPECT_EQ(errors("Es waren 42.", "Es waren 42", "de"), 0) << "a full stop makes no ordinal";
  EXPECT_GT(errors("Chapter 42.", "chapter forty-three", "en"), 0);
}

TEST(CharacterErrors, EachLetterToChangeAddOrRemoveIsOne) {
  EXPECT_EQ(errors("kitten", "sitting", "en"), 3);
  EXPECT_EQ(errors("abc", "", "en"), 3);
  EXPECT_EQ(errors("", "abc", "en"), 3);
  EXPECT_EQ(character_errors("kitten", "sitting", "en").characters, 6);
  EXPECT_DOUBLE_EQ(character_errors("kitten", "sitting", "en").rate(), 0.5);
}

TEST(CharacterErrors, SpellingsOfOneLetterAreOne) {
  EXPECT_EQ(errors("ёлка", "елка", "ru"), 0);
  EXPECT_EQ(errors("كتاب", "کتاب", "fa"), 0);
  EXPECT_EQ(errors("مَدرِسه", "مدرسه", "fa"), 0) << "vowel signs are not written";
  EXPECT_EQ(errors("año", "ano", "es"), 1) << "elsewhere marks matter";
}

TEST(CharacterErrors, EveryScriptIsComparedLetterByLetter) {
  EXPECT_EQ(errors("今天天气很好。", "今天天氣很好", "zh-cn"), 1);
  EXPECT_EQ(character_errors("今天天气很好。", "", "zh-cn").characters, 6);
  EXPECT_EQ(errors("नमस्ते दुनिया", "नमस्ते दुनिया।", "hi"), 0);
}

TEST(CharacterErrors, ATextWithoutLettersIsRightWhereNothingIsHeard) {
  EXPECT_DOUBLE_EQ(character_errors("...", "", "en").rate(), 0.0);
  EXPECT_DOUBLE_EQ(character_errors("...", "so", "en").rate(), 1.0);
}

TEST(CharacterErrors, RatesOfSeveralTextsAreThoseOfAllTheirLetters) {
  CharacterErrors all = character_errors("ab", "ab", "en");
  all += character_errors("abcdefgh", "abcdefgx", "en");
  EXPECT_DOUBLE_EQ(all.rate(), 0.1);
}

}  // namespace
}  // namespace myxtts::character_errors_test
