// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::speaker_table_test {
namespace {

// A corpus with two clips of each of these speakers.
CorpusPiece piece_of(const std::string& name, const std::vector<std::string>& speakers,
                     double held_back = 0.0) {
  ClipIndexContent content{.rows = {}};
  for (std::size_t i = 0; i < 2 * speakers.size(); ++i) {
    const std::string id = name + std::to_string(i);
    content.rows.push_back(
        {.id = id, .audio = id + ".wav", .text = "Text.", .speaker = speakers[i / 2]});
  }
  return {.index = ClipIndex::of(std::move(content)), .name = name, .held_back = held_back};
}

template <typename... Pieces>
Corpus corpus_of(Pieces... piece) {
  std::vector<CorpusPiece> pieces;
  (pieces.push_back(std::move(piece)), ...);
  return Corpus(std::move(pieces));
}

// Of each speaker in turn; the two clips of one have the same number.
std::vector<std::int64_t> numbers_in(const SpeakerTable& table, const Corpus& corpus) {
  std::vector<std::int64_t> numbers;
  for (ClipNumber clip = 0; clip < corpus.size(); clip += 2) {
    numbers.push_back(table.number(corpus.clip(clip)));
    EXPECT_EQ(table.number(corpus.clip(clip + 1)), numbers.back()) << clip;
  }
  return numbers;
}

using Numbers = std::vector<std::int64_t>;

TEST(SpeakerTable, NumbersTheSpeakersOfACorpusByName) {
  const Corpus corpus = corpus_of(piece_of("a", {"mia", "ann", "zoe"}));
  const SpeakerTable table(corpus);
  EXPECT_EQ(table.size(), 3);
  EXPECT_EQ(numbers_in(table, corpus), (Numbers{1, 0, 2}));
}

TEST(SpeakerTable, EqualNamesInDifferentCorporaAreDifferentSpeakers) {
  const Corpus corpus =
      corpus_of(piece_of("a", {"2", "1"}), piece_of("b", {"1", "3"}), piece_of("c", {"2"}));
  const SpeakerTable table(corpus);
  EXPECT_EQ(table.size(), 5);
  EXPECT_EQ(numbers_in(table, corpus), (Numbers{2, 0, 1, 4, 3}));
}

TEST(SpeakerTable, EachCorpusWithoutNamesIsOneSpeaker) {
  const Corpus corpus = corpus_of(piece_of("a", {""}), piece_of("b", {""}));
  const SpeakerTable table(corpus);
  EXPECT_EQ(table.size(), 2);
  EXPECT_EQ(numbers_in(table, corpus), (Numbers{0, 1}));
}

TEST(SpeakerTable, StrangersHaveNumbersOfTheirOwnBelowZero) {
  const Corpus corpus =
      corpus_of(piece_of("a", {"ann", "mia"}), piece_of("a", {"joe", "mia", "kim"}, 1.0));
  const SpeakerTable table(corpus);
  EXPECT_EQ(table.size(), 2);
  const Numbers numbers = numbers_in(table, corpus);
  EXPECT_EQ(numbers[3], 1) << "the trained one of that name";
  EXPECT_LT(numbers[2], 0);
  EXPECT_LT(numbers[4], 0);
  EXPECT_NE(numbers[2], numbers[4]);
}

TEST(SpeakerTable, ANameThatSeveralCorporaHaveIsNotGuessedAt) {
  const Corpus two_trained = corpus_of(piece_of("a", {"1"}), piece_of("b", {"1"}),
                                       piece_of("c", {"1"}, 1.0), piece_of("d", {"1"}, 1.0));
  EXPECT_EQ(numbers_in(SpeakerTable(two_trained), two_trained), (Numbers{0, 1, -1, -2}));
  const Corpus two_measured =
      corpus_of(piece_of("a", {"1"}), piece_of("c", {"1"}, 1.0), piece_of("d", {"1"}, 1.0));
  EXPECT_EQ(numbers_in(SpeakerTable(two_measured), two_measured), (Numbers{0, -1, -2}));
}

TEST(SpeakerTable, ClipsThatAreHeldBackKeepTheirSpeaker) {
  const std::vector<std::string> ten_clips(5, "1");
  const Corpus corpus = corpus_of(piece_of("a", ten_clips, 0.5), piece_of("b", ten_clips, 0.5));
  ASSERT_GT(corpus.validation().size(), 4U);
  EXPECT_EQ(numbers_in(SpeakerTable(corpus), corpus), (Numbers{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
}

TEST(SpeakerTable, KnowsTheClipsOfItsCorpusAlone) {
  const Corpus corpus = corpus_of(piece_of("a", {"1"}));
  const Corpus other = corpus_of(piece_of("a", {"1"}));
  const SpeakerTable table(corpus);
  EXPECT_THROW((void)table.number(other.clip(0)), InternalError);
}

}  // namespace
}  // namespace myxtts::speaker_table_test
