// SPDX-License-Identifier: Apache-2.0
#include "text/language.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::language_test {
namespace {

TEST(Language, EveryCodeReadsBackAsItsLanguage) {
  EXPECT_EQ(all_languages().size(), 18U);
  for (const Language language : all_languages()) {
    EXPECT_EQ(parse_language(language_code(language)), language) << language_code(language);
  }
}

TEST(Language, ARegionIsCutAndCaseDoesNotMatter) {
  EXPECT_EQ(parse_language("pt-br"), Language::Pt);
  EXPECT_EQ(parse_language("PT-BR"), Language::Pt);
  EXPECT_EQ(parse_language("zh"), Language::Zh);
  EXPECT_EQ(parse_language("zh-cn"), Language::Zh);
}

TEST(Language, AnotherIsKnownByItsCodeAlone) {
  const Language romanian = parse_language("RO-md");
  EXPECT_TRUE(romanian.is_other());
  EXPECT_EQ(romanian, Language::other("ro"));
  EXPECT_NE(romanian, parse_language("sw"));
  EXPECT_NE(parse_language("yo"), parse_language("yor"));
  EXPECT_EQ(language_code(romanian), "ro");
  EXPECT_EQ(language_tag(parse_language("yor")), "[yor]");
  EXPECT_EQ(length_limit(romanian), 150U);
  EXPECT_FALSE(Language(Language::Fa).is_other());
}

TEST(Language, WhatIsNoCodeIsRefusedWithTheKnownOnes) {
  for (const std::string name : {"", "-", "klingon!", "e", "r2"}) {
    try {
      parse_language(name);
      FAIL() << name << " was taken for a language";
    } catch (const ConfigError& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find("'" + name + "'"), std::string::npos) << what;
      EXPECT_NE(what.find("en es fr de it pt pl tr ru nl cs ar zh-cn ja hu ko hi fa"),
                std::string::npos)
          << what;
    }
  }
}

TEST(Language, ANameOfALanguageIsRefusedWithItsCode) {
  for (const std::string name : {"english", "eng"}) {
    try {
      parse_language(name);
      FAIL() << name << " was taken for a code";
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.what(), "'" + name + "' is no code of a language; did you mean en?");
    }
  }
}

TEST(Language, TheTagOfChineseNamesItsRegion) {
  EXPECT_EQ(language_tag(Language::Zh), "[zh-cn]");
  EXPECT_EQ(language_tag(Language::Pt), "[pt]");
}

TEST(Language, LimitsAreThoseOfThePublicModel) {
  EXPECT_EQ(length_limit(Language::En), 250U);
  EXPECT_EQ(length_limit(Language::Zh), 82U);
  EXPECT_EQ(length_limit(Language::Ja), 71U);
  EXPECT_EQ(length_limit(Language::Fa), 166U);
}

}  // namespace
}  // namespace myxtts::language_test
