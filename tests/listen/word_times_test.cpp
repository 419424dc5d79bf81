// SPDX-License-Identifier: Apache-2.0
#include "listen/word_times.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace myxtts::test::word_times_test {
namespace {

constexpr std::int64_t kTinyTokens = 1888;

const WhisperVocabulary& vocabulary() {
  static const auto folder =
      std::filesystem::path(std::getenv("MYXTTS_TEST_DATA")) / "golden" / "whisper";
  static const auto found = WhisperVocabulary::find(folder, kTinyTokens, "The tiny Whisper");
  return found;
}

std::vector<std::string> words_of(std::string_view text, std::string_view language) {
  std::vector<std::string> words;
  const auto tokens = vocabulary().encode(text);
  std::size_t next = 0;
  for (const TokenWord& word : split_into_words(vocabulary(), tokens, language)) {
    EXPECT_EQ(word.first, next) << "each token is in one word";
    next = word.first + word.count;
    words.push_back(word.text);
  }
  EXPECT_EQ(next, tokens.size());
  return words;
}

using Words = std::vector<std::string>;

TEST(WordTimes, WordsBeginWithABlankOrAreSigns) {
  EXPECT_EQ(words_of(" the naïve, co-op!", "en"),
            (Words{" the", " naïve", ",", " co", "-op", "!"}));
}

TEST(WordTimes, BytesOfACharacterStayTogether) {
  EXPECT_EQ(words_of(" سلام دنیا", "fa"), (Words{" سلام", " دنیا"}));
  EXPECT_EQ(words_of("那个", "zh"), (Words{"那", "个"}));
}

TEST(WordTimes, TokensThatAreNoCharactersAreAWordAllTheSame) {
  const std::vector<std::int64_t> half{0xE9, 'a'};  // as bytes are numbered
  const auto words = split_into_words(vocabulary(), half, "zh");
  std::size_t count = 0;
  for (const TokenWord& word : words) count += word.count;
  EXPECT_EQ(count, 2U);
  EXPECT_TRUE(split_into_words(vocabulary(), {}, "en").empty());
}

std::vector<TimedWord> timed(const Words& texts) {
  std::vector<TimedWord> words;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto begin = static_cast<double>(i);
    words.push_back({.text = texts[i], .begin = begin, .end = begin + 1, .probability = 0.5});
  }
  return words;
}

TEST(WordTimes, SignsAreJoinedToTheirWordsAndTakeNoTime) {
  auto words = timed({" “", "well", ",", " he", " said", ".", "”", " —", " yes", "؟"});
  join_signs(words);
  Words texts;
  for (const TimedWord& word : words) texts.push_back(word.text);
  EXPECT_EQ(texts, (Words{" “well,", " he", " said.”", " — yes؟"}));
  EXPECT_DOUBLE_EQ(words[0].begin, 1) << "where the word begins, not the sign";
  EXPECT_DOUBLE_EQ(words[0].end, 2);
  EXPECT_DOUBLE_EQ(words[2].end, 5);
}

TEST(WordTimes, SignsAloneAreLeftAsTheyAre) {
  auto words = timed({"..."});
  join_signs(words);
  ASSERT_EQ(words.size(), 1U);
  auto none = timed({});
  join_signs(none);
  shorten_at_pauses(none, 0);
  EXPECT_TRUE(none.empty());
}

TEST(WordTimes, AWordBehindTheEndOfASentenceDoesNotReachIntoThePause) {
  std::vector<TimedWord> words{{" One", 0.0, 0.3, 1}, {" day", 0.3, 0.6, 1},
                               {".", 0.6, 0.7, 1},    {" Then", 0.7, 4.0, 1},
                               {" it", 4.0, 4.3, 1},  {" was", 4.3, 4.6, 1}};
  shorten_at_pauses(words, 0);
  ASSERT_EQ(words.size(), 5U);
  EXPECT_DOUBLE_EQ(words[1].end, 0.6);
  EXPECT_NEAR(words[2].begin, 3.4, 1e-9) << "twice the usual 0.3 s before its end";
  EXPECT_DOUBLE_EQ(words[2].end, 4.0);
}

TEST(WordTimes, TheFirstWordAfterSilenceBeginsWhereItIsSpoken) {
  std::vector<TimedWord> words{{" One", 0.0, 5.0, 1}, {" day", 5.0, 5.3, 1}, {" it", 5.3, 5.6, 1}};
  auto after_speech = words;
  shorten_at_pauses(words, 0);
  EXPECT_NEAR(words[0].begin, 4.4, 1e-9);
  shorten_at_pauses(after_speech, 4.9);
  EXPECT_DOUBLE_EQ(after_speech[0].begin, 0.0) << "no pause before it";
}

TEST(WordTimes, WarpingFollowsTheHighestSum) {
  const std::vector<float> likeness{5,  5,  -1, -1, -1, -1,  //
                                    -1, -1, 5,  5,  5,  -1,  //
                                    -1, -1, -1, -1, -1, 5};
  EXPECT_EQ(warp(likeness, 3, 6), (std::vector<std::int64_t>{0, 2, 5}));
  EXPECT_EQ(warp(std::vector<float>{1, 2, 3}, 3, 1), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(warp(std::vector<float>{1, 2, 3}, 1, 3), (std::vector<std::int64_t>{0}));
}

}  // namespace
}  // namespace myxtts::test::word_times_test
