// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "support/processor_time.h"

namespace myxtts::tokenizer_test {
namespace {

// Letters a to d and a few merges; b c stands twice, and the later, higher rank counts.
constexpr std::string_view kSmall = R"({
  "added_tokens": [{"id": 0, "content": "[STOP]"}, {"id": 1, "content": "[UNK]"},
                   {"id": 2, "content": "[SPACE]"}, {"id": 3, "content": "[START]"},
                   {"id": 4, "content": "[en]"}, {"id": 14, "content": "[en]s"}],
  "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
  "model": {"type": "BPE", "unk_token": "[UNK]", "fuse_unk": false,
    "vocab": {"[STOP]": 0, "[UNK]": 1, "[SPACE]": 2, "[START]": 3, "[en]": 4, "a": 5, "b": 6, "c": 7,
              "d": 8, "ab": 9, "bc": 10, "abc": 11, "cd": 12, "!": 13},
    "merges": ["b c", ["a", "b"], "ab c", "c d", "b c"]}})";

std::vector<TokenId> ids(std::string_view text) {
  const auto vocabulary = Vocabulary::parse(kSmall, "small.json");
  return Tokenizer(vocabulary).encode(text);
}

using Ids = std::vector<TokenId>;

TEST(Tokenizer, TheLastOfTwoEqualMergesGivesTheRank) {
  EXPECT_EQ(ids("abc"), (Ids{11}));     // a b first: b c has the rank of its second line
  EXPECT_EQ(ids("bcd"), (Ids{6, 12}));  // c d before b c
}

TEST(Tokenizer, AnUnknownLetterIsOneUnknownTokenAndNeverMerges) {
  EXPECT_EQ(ids("aéb"), (Ids{5, 1, 6}));
  EXPECT_EQ(ids("éé"), (Ids{1, 1}));
}

TEST(Tokenizer, AddedTokensAreCutOutLongestFirst) {
  EXPECT_EQ(ids("[en]a[SPACE]b"), (Ids{4, 5, 2, 6}));
  EXPECT_EQ(ids("[en]s"), (Ids{14}));
  EXPECT_EQ(ids("[EN]"), (Ids{1, 1, 1, 1}));
}

TEST(Tokenizer, BlanksVanishAndEndAWord) {
  EXPECT_EQ(ids(" a\u00a0b "), (Ids{5, 6}));
}

TEST(Tokenizer, MarksAndWordsDoNotMergeAcrossTheirBorder) {
  EXPECT_EQ(ids("ab!ab"), (Ids{9, 13, 9}));
}

double least_seconds(const Tokenizer& tokenizer, std::size_t letters) {
  std::string word;
  while (word.size() < letters) word += "abcd";
  double least = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double start = test::thread_seconds();
    EXPECT_EQ(tokenizer.encode(word).size(), letters / 2);
    least = std::min(least, test::thread_seconds() - start);
  }
  return least;
}

// Ten times the letters: n log n takes about 13 times as long, a quadratic merge a hundred times.
// The bound is as many times the one as the other is the bound.
TEST(Tokenizer, ALongWordTakesAboutLinearTime) {
  const auto vocabulary = Vocabulary::parse(kSmall, "small.json");
  const Tokenizer tokenizer(vocabulary);
  const double short_word = least_seconds(tokenizer, 20'000);
  EXPECT_LT(least_seconds(tokenizer, 200'000), 36 * short_word);
}

TEST(Tokenizer, NothingInGivesNothingOut) {
  EXPECT_TRUE(ids("").empty());
}

TEST(Vocabulary, RowsReachTheLargestIdEvenAboveHoles) {
  EXPECT_EQ(Vocabulary::parse(kSmall, "small.json").rows(), 15);
}

}  // namespace
}  // namespace myxtts::tokenizer_test
