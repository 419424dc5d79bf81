// SPDX-License-Identifier: Apache-2.0
#include "text/language.h"

#include <gtest/gtest.h>

namespace myxtts::script_test {
namespace {

TEST(Script, IsThatOfMostLetters) {
  EXPECT_EQ(script_of("12 %, …"), "");
  EXPECT_EQ(script_of("The word мир."), "Latin");
  EXPECT_EQ(script_of("Слово OK, 12"), "Cyrillic");
  EXPECT_EQ(script_of("گربه کوچک"), "Arabic");
  EXPECT_EQ(script_of("漢字"), "Han");
  EXPECT_EQ(script_of("\xff"), "");
}

TEST(Script, EveryLanguageUsesItsOwnAndAnotherMayUseAny) {
  EXPECT_TRUE(uses_script(Language::En, "Latin"));
  EXPECT_FALSE(uses_script(Language::En, "Arabic"));
  EXPECT_TRUE(uses_script(Language::Fa, "Arabic"));
  EXPECT_FALSE(uses_script(Language::Fa, "Latin"));
  for (const char* script : {"Han", "Hiragana", "Katakana"}) {
    EXPECT_TRUE(uses_script(Language::Ja, script)) << script;
  }
  EXPECT_TRUE(uses_script(Language::other("el"), "Greek"));
}

TEST(Script, TellsTheLikelyLanguageByItsLetters) {
  const auto likely = [](const char* text) { return likely_language(text, script_of(text)); };
  EXPECT_EQ(likely("گربه کوچک"), "fa");
  EXPECT_EQ(likely("قطة صغيرة"), "ar");
  EXPECT_EQ(likely("слово"), "ru");
  EXPECT_EQ(likely("漢字"), "zh-cn");
  EXPECT_EQ(likely("漢字漢字の"), "ja");
  EXPECT_EQ(likely("한국어"), "ko");
  EXPECT_EQ(likely("हिन्दी"), "hi");
  EXPECT_EQ(likely("word"), "");
  EXPECT_EQ(likely("λέξη"), "");
}

}  // namespace
}  // namespace myxtts::script_test
