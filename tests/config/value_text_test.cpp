// SPDX-License-Identifier: Apache-2.0
#include "config/value_text.h"

#include <gtest/gtest.h>

namespace myxtts::value_text_test {
namespace {

TEST(ValueText, IntegersAreReadWholeOrNotAtAll) {
  EXPECT_EQ(parse_integer("42"), 42);
  EXPECT_EQ(parse_integer("-3"), -3);
  for (const char* wrong :
       {"", " 4", "4 ", "4.0", "4x", "0x10", "+4", "1e3", "99999999999999999999"}) {
    EXPECT_EQ(parse_integer(wrong), std::nullopt) << wrong;
  }
}

TEST(ValueText, NumbersAreFiniteAndPrintedSoThatTheyReadBackEqual) {
  for (const double value : {0.0, 2.0, 5e-6, 0.1, 1.0 / 3.0, 1e-12, 3600.0, 12345678.9}) {
    EXPECT_EQ(parse_number(format_number(value)), value) << format_number(value);
  }
  EXPECT_EQ(format_number(2.0), "2.0");
  for (const char* wrong : {"", "nan", "inf", "-inf", "1,5", "1e999", "two"}) {
    EXPECT_EQ(parse_number(wrong), std::nullopt) << wrong;
  }
}

TEST(ValueText, SwitchesKnowSixWordsInAnyCase) {
  for (const char* yes : {"true", "Yes", "ON"}) EXPECT_EQ(parse_switch(yes), true) << yes;
  for (const char* no : {"false", "No", "OFF"}) EXPECT_EQ(parse_switch(no), false) << no;
  for (const char* wrong : {"", "1", "0", "y", "maybe"})
    EXPECT_EQ(parse_switch(wrong), std::nullopt);
}

TEST(ValueText, WeightsAreNamesWithNumbers) {
  EXPECT_EQ(parse_weights("fa=3,a=b=0.5"), (Weights{{"a=b", 0.5}, {"fa", 3.0}}));
  EXPECT_EQ(format_weights(*parse_weights("fa=3,en=1.5")), "en=1.5,fa=3.0");
  for (const char* wrong :
       {"", "fa", "=1", "fa=", "fa=0", "fa=-1", "fa=1001", "fa=1,", "fa=1,fa=2"}) {
    EXPECT_EQ(parse_weights(wrong), std::nullopt) << wrong;
  }
}

TEST(ValueText, ASplitGpuIsANumberWithOrWithoutMultiprocessors) {
  EXPECT_EQ(parse_split_gpu("1"), (SplitGpu{.gpu = 1, .multiprocessors = {}}));
  EXPECT_EQ(parse_split_gpu("0:16"), (SplitGpu{.gpu = 0, .multiprocessors = 16}));
  EXPECT_EQ(format_split_gpu(*parse_split_gpu("3:8")), "3:8");
  for (const char* wrong : {"", ":", "0:", ":8", "0:0", "64", "-1", "0:8:8", "a"}) {
    EXPECT_EQ(parse_split_gpu(wrong), std::nullopt) << wrong;
  }
}

TEST(ValueText, LanguageCodesAreSmallLettersWithAnOptionalRegion) {
  for (const char* right : {"en", "fa", "zh-cn", "yue", "sr-latn"}) {
    EXPECT_TRUE(is_language_code(right)) << right;
  }
  for (const char* wrong :
       {"", "e", "EN", "english", "zh-", "zh-c", "zh-cn-x", "e1", "eng", "cn"}) {
    EXPECT_FALSE(is_language_code(wrong)) << wrong;
  }
}

TEST(ValueText, LanguagesThatAreNamedInAnotherWayHaveACode) {
  using Named = std::pair<const char*, std::optional<std::string>>;
  for (const auto& [name, code] :
       {Named{"english", "en"}, Named{"English", "en"}, Named{"persian", "fa"},
        Named{"en-US", "en"}, Named{"EN_gb", "en"}, Named{"Chinese", "zh-cn"},
        Named{"zh-CN", "zh-cn"}, Named{"eng", "en"}, Named{"fas", "fa"}, Named{"jp", "ja"},
        Named{"klingon", std::nullopt}, Named{"", std::nullopt}}) {
    EXPECT_EQ(language_code_meant(name), code) << name;
  }
}

TEST(ValueText, OnlyCompleteUtf8WithoutNulIsText) {
  EXPECT_TRUE(is_text("a\xc3\xa9\xd9\x81\xf0\x9f\x98\x80"));
  using namespace std::string_view_literals;
  for (const auto wrong : {"\xff"sv, "\xc3"sv, "\xc0\x80"sv, "\xe0\x80\x80"sv, "\xed\xa0\x80"sv,
                           "\xf5\x80\x80\x80"sv, "\xf4\x90\x80\x80"sv, "a\0b"sv, "\x80"sv}) {
    EXPECT_FALSE(is_text(wrong));
  }
}

TEST(ValueText, AQuotedTextIsOneShortLine) {
  EXPECT_EQ(quote("a\nb\x1b[31m\xff"), "'a\\x0ab\\x1b[31m\\xff'");
  EXPECT_LT(quote(std::string(100'000, 'x')).size(), 100U);
  std::string cut_in_a_letter(79, 'x');
  cut_in_a_letter += "\xc3\xa9\xc3\xa9";
  EXPECT_EQ(quote(cut_in_a_letter), "'" + std::string(79, 'x') + "...'");
}

}  // namespace
}  // namespace myxtts::value_text_test
