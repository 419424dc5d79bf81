// SPDX-License-Identifier: Apache-2.0
#include "text/vocabulary_learning.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "text/tokenizer.h"

namespace myxtts::vocabulary_learning_test {
namespace {

const std::vector<std::string> kEnglish = {"the cat sat on the mat.", "the rat sat, the cat ran.",
                                           "that hat is the cat's."};

Vocabulary learnt(const SentencesByLanguage& sentences, std::size_t pieces) {
  return Vocabulary::parse(learn_vocabulary(sentences, pieces, 2), "vocab.json");
}

TEST(LearnVocabulary, SpecialTokensComeFirstAndTagsAfterThem) {
  const auto vocabulary = learnt({{Language::En, kEnglish}, {Language::De, {"das ist gut."}}}, 4);
  EXPECT_EQ(vocabulary.stop(), 0);
  EXPECT_EQ(vocabulary.unknown(), 1);
  EXPECT_EQ(vocabulary.find("[SPACE]"), 2);
  EXPECT_EQ(vocabulary.start(), 3);
  EXPECT_EQ(vocabulary.token(4), "[en]");
  EXPECT_EQ(vocabulary.token(5), "[de]");
  EXPECT_EQ(vocabulary.languages(), (std::vector<std::string>{"en", "de"}));
}

TEST(LearnVocabulary, EveryTextItWasLearntFromIsKnownAndFrequentWordsAreOneToken) {
  const auto vocabulary = learnt({{Language::En, kEnglish}}, 40);
  const TextEncoder encoder(vocabulary, Language::En);
  for (const std::string& sentence : kEnglish) {
    const auto ids = encoder.encode(sentence).ids;
    EXPECT_EQ(std::ranges::count(ids, vocabulary.unknown()), 0) << sentence;
  }
  EXPECT_EQ(encoder.encode("the").ids, (std::vector<TokenId>{4, *vocabulary.find("the")}));
  EXPECT_EQ(std::ranges::count(encoder.encode("q").ids, vocabulary.unknown()), 1);
}

TEST(LearnVocabulary, NoMorePiecesThanAskedForAndNoneThatOccursOnce) {
  const auto letters = learnt({{Language::En, kEnglish}}, 0);
  const auto some = learnt({{Language::En, kEnglish}}, 3);
  const auto all = learnt({{Language::En, kEnglish}}, 100'000);
  EXPECT_EQ(some.rows(), letters.rows() + 3);
  EXPECT_LT(all.rows(), letters.rows() + 40);
  EXPECT_FALSE(all.find("ran"));
}

TEST(LearnVocabulary, APieceMustBeSeenAsOftenAsTheRuleSays) {
  const auto said = [](std::size_t times) {
    return SentencesByLanguage{{Language::En, std::vector<std::string>(times, "no")}};
  };
  const auto learnt_of = [&](std::size_t times) {
    return Vocabulary::parse(learn_vocabulary(said(times)), "vocab.json").find("no").has_value();
  };
  EXPECT_FALSE(learnt_of(1999));
  EXPECT_TRUE(learnt_of(2000));
}

TEST(LearnVocabulary, TheOrderOfSentencesDoesNotMatter) {
  auto reversed = kEnglish;
  std::ranges::reverse(reversed);
  EXPECT_EQ(learn_vocabulary({{Language::En, kEnglish}}, 20, 2),
            learn_vocabulary({{Language::En, reversed}}, 20, 2));
}

TEST(LearnVocabulary, LettersBeyondAsciiAreTokens) {
  const auto vocabulary = learnt({{Language::Fa, {"این یک جمله است", "این کتاب است"}}}, 50);
  const TextEncoder encoder(vocabulary, Language::Fa);
  const auto ids = encoder.encode("این است").ids;
  EXPECT_EQ(ids.size(), 4U);  // tag, word, space, word
}

}  // namespace
}  // namespace myxtts::vocabulary_learning_test
