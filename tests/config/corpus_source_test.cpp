// SPDX-License-Identifier: Apache-2.0
#include "config/value_text.h"

#include <gtest/gtest.h>

namespace myxtts::corpus_source_test {
namespace {

TEST(CorpusSource, APathAloneIsTakenAsItStands) {
  for (const char* path : {"corpora/lj", "a,b", "a, language", "a,=b", "x=1", "C:\\data", "none",
                           "\xd9\x81\xd8\xa7\xd8\xb1\xd8\xb3\xdb\x8c, 2", "a,b c=d", ","}) {
    const auto source = parse_corpus_source(path);
    ASSERT_TRUE(source) << path;
    EXPECT_EQ(*source, CorpusSource{.path = path}) << path;
  }
}

TEST(CorpusSource, OptionsFollowThePathInAnyOrder) {
  const CorpusSource expected{.path = "my, corpus",
                              .layout = CorpusLayout::CommonVoice,
                              .language = "zh-cn",
                              .weight = 0.5};
  EXPECT_EQ(parse_corpus_source("my, corpus,language=zh-cn,weight=0.5,format=common-voice"),
            expected);
  EXPECT_EQ(parse_corpus_source("my, corpus,format=common-voice,weight=.5,language=zh-cn"),
            expected);
}

TEST(CorpusSource, ABackslashKeepsACommaInThePath) {
  EXPECT_EQ(parse_corpus_source("a\\,language=fa"), CorpusSource{.path = "a,language=fa"});
  EXPECT_EQ(parse_corpus_source("a\\\\,language=fa"),
            (CorpusSource{.path = "a\\", .language = "fa"}));
}

TEST(CorpusSource, WhatIsNotAllowedIsRefused) {
  for (const char* text :
       {"", ",language=fa", "a,language=", "a,language=Persian", "a,weight=0", "a,weight=-1",
        "a,weight=101", "a,weight=x", "a,weight=nan", "a,format=", "a,format=mp3", "a,wieght=2",
        "a,path=b", "a,weight=1,weight=2", "a,weight=2,b", "\xff"}) {
    EXPECT_EQ(parse_corpus_source(text), std::nullopt) << text;
  }
}

TEST(CorpusSource, WhatIsFormattedParsesBack) {
  for (const char* path :
       {"a", "a,b", "a,weight=2", "a\\", "a\\,b", "a\\\\,format=plain", "\\,x="}) {
    const CorpusSource source{
        .path = path, .layout = CorpusLayout::NemoJsonl, .language = "fa", .weight = 1.5};
    EXPECT_EQ(parse_corpus_source(format_corpus_source(source)), source) << path;
    EXPECT_EQ(parse_corpus_source(format_corpus_source({.path = path})), CorpusSource{.path = path})
        << path;
  }
}

TEST(CorpusSource, EveryLayoutHasAName) {
  EXPECT_EQ(corpus_layouts().size(), 9U);
  for (const auto& [name, layout] : corpus_layouts()) {
    EXPECT_EQ(name_of(layout), name);
    EXPECT_EQ(parse_corpus_source("x,format=" + name)->layout, layout);
  }
}

}  // namespace
}  // namespace myxtts::corpus_source_test
