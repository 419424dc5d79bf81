// SPDX-License-Identifier: Apache-2.0
#include "text/unicode.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::unicode_test {
namespace {

TEST(RepairUtf8, ValidTextIsUnchanged) {
  std::size_t replaced = 0;
  const std::string text = "aß€😀\n" + std::string(1, '\0') + "z";
  EXPECT_EQ(repair_utf8(text, &replaced), text);
  EXPECT_EQ(replaced, 0U);
}

TEST(RepairUtf8, EachMaximalBrokenSequenceBecomesOneReplacementAndIsCounted) {
  struct Case {
    std::string bytes, text;
    std::size_t replaced;
  };
  const std::vector<Case> cases{
      {"a\xFFz", "a\uFFFDz", 1},
      {"\xE2\x82", "\uFFFD", 1},                  // the start of a euro sign
      {"\xE2\x82z", "\uFFFDz", 1},                //
      {"\xC0\xAF", "\uFFFD\uFFFD", 2},            // an overlong slash
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD", 3},  // a surrogate
      {"\xF0\x9F\x98", "\uFFFD", 1},              // the start of a face
      {"\xF5\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD", 4},
      {"\x80\xBF", "\uFFFD\uFFFD", 2},
  };
  for (const Case& one : cases) {
    std::size_t replaced = 0;
    EXPECT_EQ(repair_utf8(one.bytes, &replaced), one.text);
    EXPECT_EQ(replaced, one.replaced) << one.text;
  }
}

TEST(Classes, MarksAreNotPartOfWordsButNumbersOfAnyKindAre) {
  for (const char32_t c : {U'a', U'Z', U'_', U'0', U'é', U'٣', U'½', U'Ⅷ', U'²', U'字', U'ª'}) {
    EXPECT_TRUE(is_word(c)) << static_cast<unsigned>(c);
  }
  for (const char32_t c : {U'-', U' ', U'\u0301', U'\u094D', U'\u200C', U'€', U'°', U'🙂'}) {
    EXPECT_FALSE(is_word(c)) << static_cast<unsigned>(c);
  }
}

TEST(Classes, SeparatorsOfFilesAndRecordsAreBlanksButZeroWidthOnesAreNot) {
  for (const char32_t c : {U' ', U'\t', U'\v', U'\x1C', U'\x1F', U'\u0085', U'\u00A0', U'\u3000'}) {
    EXPECT_TRUE(is_space(c)) << static_cast<unsigned>(c);
  }
  for (const char32_t c : {U'\u200B', U'\u2060', U'\uFEFF', U'\x1B', U'\0'}) {
    EXPECT_FALSE(is_space(c)) << static_cast<unsigned>(c);
  }
}

TEST(Classes, AWordBoundaryIsWhereAWordStartsOrEnds) {
  const std::string text = "añ. é";
  EXPECT_TRUE(is_word_boundary(text, 0));
  EXPECT_FALSE(is_word_boundary(text, 1));
  EXPECT_TRUE(is_word_boundary(text, 3));
  EXPECT_FALSE(is_word_boundary(text, 4));
  EXPECT_TRUE(is_word_boundary(text, 5));
  EXPECT_TRUE(is_word_boundary(text, text.size()));
  EXPECT_FALSE(is_word_boundary("", 0));
}

TEST(CodePoints, BothDirectionsSeeTheSame) {
  const std::string text = "a€😀";
  EXPECT_EQ(code_point_at(text, 0), U'a');
  EXPECT_EQ(code_point_at(text, 1), U'€');
  EXPECT_EQ(code_point_at(text, 4), U'😀');
  EXPECT_EQ(code_point_at(text, text.size()), kNoCodePoint);
  EXPECT_EQ(code_point_before(text, text.size()), U'😀');
  EXPECT_EQ(code_point_before(text, 4), U'€');
  EXPECT_EQ(code_point_before(text, 0), kNoCodePoint);
  EXPECT_EQ(count_code_points(text), 3U);
}

TEST(ToLower, FollowsNoLanguage) {
  EXPECT_EQ(to_lower("ISTANBUL Ünal"), "istanbul ünal");
  EXPECT_EQ(to_lower("İ"), "i\u0307");
  EXPECT_EQ(to_lower("ΟΔΟΣ ΣΑΣ."), "οδος σας.");
  EXPECT_EQ(to_lower("ẞ ǅ K"), "ß ǆ k");
}

TEST(CollapseSpaces, EveryRunOfBlanksBecomesOneSpaceAndNoneAtTheEnds) {
  EXPECT_EQ(collapse_spaces(" \t a\u00A0\u3000b\n"), "a b");
  EXPECT_EQ(collapse_spaces(" \n "), "");
  EXPECT_EQ(collapse_spaces(""), "");
}

TEST(Pattern, ItsClassesAreOursAndNotIcus) {
  const Pattern word("{B}({W}+){B}");
  EXPECT_EQ(to_utf8(word.replace(to_unicode("aé1 _x"), icu::UnicodeString("<$1>"))), "<aé1> <_x>");
  // ICU's own \b sees no boundary between a letter and its mark.
  EXPECT_EQ(to_utf8(word.replace(to_unicode("e\u0301"), icu::UnicodeString("<$1>"))), "<e>\u0301");
  const Pattern space("{SP}+");
  EXPECT_EQ(to_utf8(space.replace(to_unicode("a\x1C\u0085z"), icu::UnicodeString("-"))), "a-z");
}

TEST(Pattern, AFunctionSaysWhatEachMatchBecomes) {
  const Pattern digits("[0-9]+");
  const auto doubled = [](const icu::RegexMatcher& match) {
    UErrorCode status = U_ZERO_ERROR;
    const icu::UnicodeString found = match.group(status);
    return found + found;
  };
  EXPECT_EQ(to_utf8(digits.replace(to_unicode("a1b22"), doubled)), "a11b2222");
}

TEST(Pattern, AnExpressionThatIsNoneIsOurBug) {
  EXPECT_THROW(Pattern("("), InternalError);
}

}  // namespace
}  // namespace myxtts::unicode_test
