// SPDX-License-Identifier: Apache-2.0
#include "clips/text_alignment.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::test::text_alignment_test {
namespace {

// Words of few letters are frequent, as in any language.
class Book {
 public:
  explicit Book(std::uint32_t seed) : random_(seed) {
    const char* const syllables[] = {"ba", "re", "to", "in",  "ma",  "sel", "dor", "ke",
                                     "an", "lu", "vi", "gra", "pen", "so",  "ti",  "mor"};
    for (int i = 0; i < 3'000; ++i) {
      std::string word;
      for (int part = 0; part < 1 + (i > 15) + (i > 250) + (i > 1'500); ++part) {
        word += syllables[pick(std::size(syllables))];
      }
      vocabulary_.push_back(word);
    }
  }

  std::vector<std::string> words(std::size_t count) {
    std::vector<std::string> made;
    while (made.size() < count) {
      // About as often as its place in the list says.
      const double share = std::uniform_real_distribution<double>(0, 1)(random_);
      const auto place = static_cast<std::size_t>(std::pow(3'000.0, share)) - 1;
      made.push_back(vocabulary_[place]);
    }
    return made;
  }

  std::size_t pick(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }
  bool happens(double share) { return std::bernoulli_distribution(share)(random_); }

  // As a recogniser that does not know the word would write it.
  std::string misheard(std::string word) {
    for (std::size_t i = 0; i < 1 + word.size() / 3; ++i) {
      word[pick(word.size())] = static_cast<char>('a' + pick(26));
    }
    return word;
  }

 private:
  std::mt19937 random_;
  std::vector<std::string> vocabulary_;
};

constexpr std::size_t kNotInText = static_cast<std::size_t>(-1);

// What is heard, and of which word of the text.
struct Reading {
  HeardWords heard;
  std::vector<std::size_t> truth;

  void say(const std::string& word, std::size_t of) {
    const auto begin = 0.4 * static_cast<double>(heard.size());
    heard.push_back({.text = " " + word, .begin = begin, .end = begin + 0.3, .probability = 1});
    truth.push_back(of);
  }
  void read(const std::vector<std::string>& text, std::size_t begin, std::size_t end, Book& book,
            double wrong) {
    for (std::size_t i = begin; i < end; ++i) {
      say(book.happens(wrong) ? book.misheard(text[i]) : text[i], i);
    }
  }
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += words[i] + (i % 12 == 11 ? ".\n" : i % 5 == 4 ? ", " : " ");
  }
  return text;
}

std::string plain(std::string text) {
  std::erase_if(text, [](char c) { return c == '.' || c == ','; });
  return text;
}

double words_in(const std::string& passage) {
  return static_cast<double>(
      std::ranges::count_if(passage, [](char c) { return c == ' ' || c == '\n'; }) + 1);
}

struct Score {
  int right = 0;
  int missing = 0;  // heard of the text, and not found in it
  int wrong = 0;
};

Score score(const TextAlignment& alignment, const Reading& reading,
            const std::vector<std::string>& text, std::size_t recording = 0) {
  Score found;
  for (std::size_t i = 0; i < reading.heard.size(); ++i) {
    const TimedWord& word = reading.heard[i];
    const auto clip = alignment.text_between(recording, word.begin, word.end);
    const std::size_t truth = reading.truth[i];
    if (!clip) {
      found.missing += truth != kNotInText;
    } else if (truth != kNotInText && plain(clip->text) == text[truth]) {
      ++found.right;
    } else {
      ++found.wrong;
    }
  }
  return found;
}

TEST(TextAlignment, EveryWordOfAFaithfulReadingIsFoundAndSpelledAsInTheText) {
  const TextAlignment alignment(
      "“Well,” said Dr. Holmes—who was 42—“it's\n_over_.” He paid $5.50 in all.",
      {{{" Well,", 0, 1, 1},
        {" said", 1, 2, 1},
        {" doctor", 2, 3, 1},
        {" Homes", 3, 4, 1},
        {" who", 4, 5, 1},
        {" was", 5, 6, 1},
        {" forty", 6, 6.5, 1},
        {" two", 6.5, 7, 1},
        {" its", 7, 8, 1},
        {" over.", 8, 9, 1},
        {" He", 9, 10, 1},
        {" paid", 10, 11, 1},
        {" $5.50", 11, 12, 1},
        {" in", 12, 13, 1},
        {" all.", 13, 14, 1}}},
      "en", "book.txt");
  const auto all = alignment.text_between(0, 0, 14);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->text, "“Well,” said Dr. Holmes—who was 42—“it's over.” He paid $5.50 in all.");
  EXPECT_EQ(all->heard,
            "Well, said doctor Homes who was forty two its over. He paid $5.50 in all.");
  EXPECT_GT(all->confidence, 0.95) << "one letter is heard otherwise";
  EXPECT_LT(all->confidence, 1.0);
  EXPECT_EQ(all->doubt, "");
  EXPECT_EQ(alignment.text_between(0, 0, 3)->text, "“Well,” said Dr.");
  EXPECT_EQ(alignment.text_between(0, 6, 9)->text, "42—“it's over.”");
  EXPECT_FALSE(alignment.text_between(0, 20, 30));
  EXPECT_TRUE(alignment.unread().empty());
}

TEST(TextAlignment, WordsHeardWronglyAreTheWordsOfTheText) {
  Book book(1);
  const auto text = book.words(5'000);
  for (const double wrong : {0.1, 0.2}) {
    Reading reading;
    reading.read(text, 0, text.size(), book, wrong);
    const TextAlignment alignment(joined(text), {reading.heard}, "en", "book.txt");
    const Score found = score(alignment, reading, text);
    EXPECT_EQ(found.wrong, 0) << wrong;
    EXPECT_LT(found.missing, 25) << "half a per cent, of " << wrong;
  }
}

TEST(TextAlignment, LostAndAddedWordsShiftNothing) {
  Book book(2);
  const auto text = book.words(5'000);
  Reading reading;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (book.happens(0.03)) continue;
    if (book.happens(0.03)) reading.say(book.words(1)[0] + "x", kNotInText);
    reading.read(text, i, i + 1, book, 0.1);
  }
  const TextAlignment alignment(joined(text), {reading.heard}, "en", "book.txt");
  const Score found = score(alignment, reading, text);
  EXPECT_LT(found.wrong, 50) << "a word is taken for its neighbour";
  EXPECT_LT(found.missing, 50);
}

TEST(TextAlignment, AnUnreadParagraphIsFoundAndNothingBehindItIsMisaligned) {
  Book book(3);
  const auto text = book.words(4'000);
  Reading reading;
  reading.read(text, 0, 1'000, book, 0.15);
  reading.read(text, 1'130, 2'600, book, 0.15);
  reading.read(text, 3'000, 4'000, book, 0.15);
  const TextAlignment alignment(joined(text), {reading.heard}, "en", "book.txt");
  const Score found = score(alignment, reading, text);
  EXPECT_LE(found.wrong, 4) << "at the edges of what was not read";
  EXPECT_LT(found.missing, 20);
  ASSERT_EQ(alignment.unread().size(), 2U);
  EXPECT_NEAR(words_in(alignment.unread()[0]), 130, 2);
  EXPECT_NEAR(words_in(alignment.unread()[1]), 400, 2);
}

TEST(TextAlignment, WhatIsNotInTheTextIsFoundAndNothingBehindItIsMisaligned) {
  Book book(4);
  const auto text = book.words(3'000);
  const auto other = Book(40).words(400);
  Reading reading;
  for (std::size_t i = 0; i < 60; ++i) reading.say(other[i], kNotInText);  // "this is a recording"
  reading.read(text, 0, 1'500, book, 0.1);
  for (std::size_t i = 60; i < 360; ++i) reading.say(other[i], kNotInText);
  reading.read(text, 1'500, 3'000, book, 0.1);
  const TextAlignment alignment(joined(text), {reading.heard}, "en", "book.txt");
  const Score found = score(alignment, reading, text);
  EXPECT_LE(found.wrong, 4);
  EXPECT_LT(found.missing, 15);
  for (const auto& [begin, end] : {std::pair(0.0, 23.6), std::pair(628.0, 740.0)}) {
    EXPECT_FALSE(alignment.text_between(0, begin, end)) << begin;
  }
}

TEST(TextAlignment, AParagraphInPlaceOfAnotherIsNotTakenForIt) {
  Book book(5);
  const auto text = book.words(3'000);
  const auto other = Book(50).words(250);
  Reading reading;
  reading.read(text, 0, 1'500, book, 0.1);
  for (const auto& word : other) reading.say(word, kNotInText);
  reading.read(text, 1'800, 3'000, book, 0.1);
  const TextAlignment alignment(joined(text), {reading.heard}, "en", "book.txt");
  const Score found = score(alignment, reading, text);
  EXPECT_LE(found.wrong, 10) << "at its edges";
  EXPECT_LT(found.missing, 20);
}

TEST(TextAlignment, OfAPassageReadTwiceTheSecondReadingIsTaken) {
  Book book(6);
  const auto text = book.words(600);
  Reading reading;
  reading.read(text, 0, 230, book, 0);
  reading.read(text, 210, 600, book, 0);
  for (std::size_t i = 210; i < 230; ++i) reading.truth[i] = kNotInText;
  const TextAlignment alignment(joined(text), {reading.heard}, "en", "book.txt");
  const Score found = score(alignment, reading, text);
  EXPECT_EQ(found.wrong, 0);
  EXPECT_EQ(found.missing, 0);
}

TEST(TextAlignment, ChaptersMayLieInSeveralRecordingsInAnyOrder) {
  Book book(7);
  const auto text = book.words(3'000);
  std::vector<Reading> readings(3);
  for (std::size_t i = 0; i < 3; ++i)
    readings[i].read(text, 1'000 * i, 1'000 * i + 1'000, book, 0.1);
  for (const auto& order : {std::vector<std::size_t>{0, 1, 2}, {2, 0, 1}}) {
    std::vector<HeardWords> recordings;
    for (const std::size_t i : order) recordings.push_back(readings[i].heard);
    const TextAlignment alignment(joined(text), recordings, "en", "book.txt");
    for (std::size_t i = 0; i < 3; ++i) {
      const Score found = score(alignment, readings[order[i]], text, i);
      EXPECT_EQ(found.wrong, 0);
      EXPECT_LT(found.missing, 10);
      EXPECT_GT(alignment.found_share(i), 0.99);
    }
  }
}

TEST(TextAlignment, ARecordingOfSomethingElseIsToldByItsShare) {
  Book book(8);
  const auto text = book.words(2'000);
  Reading right;
  right.read(text, 0, 2'000, book, 0.1);
  Reading other;
  const auto others = Book(80).words(500);
  for (const auto& word : others) other.say(word, kNotInText);
  const TextAlignment alignment(joined(text), {right.heard, other.heard}, "en", "book.txt");
  EXPECT_GT(alignment.found_share(0), 0.99);
  EXPECT_LT(alignment.found_share(1), 0.05);
}

TEST(TextAlignment, TheTextOfAnotherBookIsRefused) {
  const auto text = Book(9).words(20'000);
  Reading reading;
  Book other(90);
  reading.read(other.words(3'000), 0, 3'000, other, 0);
  try {
    TextAlignment(joined(text), {reading.heard}, "en", "book.txt");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 66),
              "book.txt is not the text of this recording: of 3,000 words heard, ");
  }
}

TEST(TextAlignment, APassageInsideAClipThatWasNotReadIsNotInItsText) {
  Book book(10);
  const auto text = book.words(400);
  Reading reading;
  reading.read(text, 0, 200, book, 0);
  reading.read(text, 240, 400, book, 0);
  const TextAlignment alignment(joined(text), {reading.heard}, "en", "book.txt");
  const auto clip = alignment.text_between(0, 0.4 * 197, 0.4 * 203);
  ASSERT_TRUE(clip);
  EXPECT_EQ(plain(clip->text), text[197] + " " + text[198] + " " + text[199] + " " + text[240] +
                                   " " + text[241] + " " + text[242]);
  EXPECT_EQ(clip->doubt, "A passage of the text was not read inside it.");
}

TEST(TextAlignment, WordsThatOneSideLacksMakeAClipDoubtful) {
  const HeardWords heard{{" One", 0, 1, 1},  {" two", 1, 2, 1},    {" three", 2, 3, 1},
                         {" four", 3, 4, 1}, {" pardon", 4, 5, 1}, {" five", 5, 6, 1},
                         {" six", 6, 7, 1},  {" eight", 7, 8, 1},  {" nine", 8, 9, 1}};
  const TextAlignment alignment("One two three four five six seven eight nine.", {heard}, "en",
                                "t");
  EXPECT_EQ(alignment.text_between(0, 0, 4)->doubt, "");
  EXPECT_EQ(alignment.text_between(0, 2, 6)->doubt,
            "Words are heard inside that are not in the text.");
  EXPECT_EQ(alignment.text_between(0, 2, 5)->doubt, "It ends with words that are not in the text.");
  EXPECT_EQ(alignment.text_between(0, 5, 9)->doubt,
            "The text has words inside that were not heard.");
  EXPECT_EQ(alignment.text_between(0, 5, 7)->doubt,
            "Words of the text at its edge were not heard.");
  EXPECT_LT(alignment.text_between(0, 5, 9)->confidence, 0.9);
}

TEST(TextAlignment, LanguagesWithoutBlanksAreAlignedByTheirCharacters) {
  const TextAlignment alignment("那个东西,我不知道。你呢?",
                                {{{"那个", 0, 1, 1},
                                  {"东西", 1, 2, 1},
                                  {"我不", 2, 3, 1},
                                  {"知", 3, 3.5, 1},
                                  {"到", 3.5, 4, 1},
                                  {"你", 4, 5, 1},
                                  {"呢", 5, 6, 1}}},
                                "zh-cn", "book.txt");
  EXPECT_EQ(alignment.text_between(0, 0, 2)->text, "那个东西,");
  EXPECT_EQ(alignment.text_between(0, 2, 6)->text, "我不知道。你呢?");
}

TEST(TextAlignment, PersianIsComparedWithoutItsJoinersAndVowelSigns) {
  const TextAlignment alignment("او می\u200Cخواهد کِتاب را بخواند.",
                                {{{" او", 0, 1, 1},
                                  {" می", 1, 1.5, 1},
                                  {" خواهد", 1.5, 2, 1},
                                  {" كتاب", 2, 3, 1},
                                  {" را", 3, 4, 1},
                                  {" بخواند", 4, 5, 1}}},
                                "fa", "book.txt");
  const auto clip = alignment.text_between(0, 0, 5);
  EXPECT_EQ(clip->text, "او می\u200Cخواهد کِتاب را بخواند.");
  EXPECT_DOUBLE_EQ(clip->confidence, 1.0);
}

TEST(TextAlignment, NumbersMatchTheirWordsHoweverTheyAreRead) {
  const auto text =
      "In seventeen eighty-nine, and in one thousand eight hundred and fifty; eighteen fifteen.";
  const TextAlignment alignment(text,
                                {{{" In", 0, 1, 1},
                                  {" 1789,", 1, 2, 1},
                                  {" and", 2, 3, 1},
                                  {" in", 3, 4, 1},
                                  {" 1850.", 4, 5, 1},
                                  {" 1815.", 5, 6, 1}}},
                                "en", "book.txt");
  const auto clip = alignment.text_between(0, 0, 6);
  ASSERT_TRUE(clip);
  EXPECT_EQ(clip->text, text);
  EXPECT_EQ(clip->doubt, "");
  EXPECT_GT(clip->confidence, 0.97);
  EXPECT_EQ(alignment.text_between(0, 1, 2)->text, "seventeen eighty-nine,");
}

TEST(TextAlignment, NothingHeardIsNoError) {
  const TextAlignment alignment("Some text of a few words.", {{}, {}}, "en", "book.txt");
  EXPECT_FALSE(alignment.text_between(0, 0, 10));
  EXPECT_EQ(alignment.unread().size(), 1U);
  EXPECT_THROW(TextAlignment(" ... ", {{}}, "en", "book.txt"), DataError);
}

TEST(TextAlignment, ABookOfAHundredThousandWordsIsAligned) {
  Book book(11);
  const auto text = book.words(100'000);
  Reading reading;
  reading.read(text, 0, 30'000, book, 0.1);
  reading.read(text, 31'000, 100'000, book, 0.1);
  const TextAlignment alignment(joined(text), {reading.heard}, "en", "book.txt");
  EXPECT_GT(alignment.found_share(), 0.99);
  ASSERT_EQ(alignment.unread().size(), 1U);
  EXPECT_NEAR(words_in(alignment.unread()[0]), 1'000, 3);
}

}  // namespace
}  // namespace myxtts::test::text_alignment_test
