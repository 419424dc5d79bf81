// SPDX-License-Identifier: Apache-2.0
#include "text/lexicon.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::lexicon_test {
namespace {

std::string applied(const std::string& lines, const std::string& text,
                    Language language = Language::En) {
  return Lexicon(lines, "words.tsv").apply(text, language);
}

std::string fault_of(const std::string& lines) {
  try {
    const Lexicon lexicon(lines, "words.tsv");
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing is wrong";
}

TEST(Lexicon, WholeWordsAreReplacedWhereverTheyStand) {
  const std::string lines = "# names\n\nnguyen\twin\nc++\tsee plus plus\n";
  EXPECT_EQ(applied(lines, "Nguyen, nguyen's and (NGUYEN)."), "win, win's and (win).");
  EXPECT_EQ(applied(lines, "Nguyens and nguyen2 stay."), "Nguyens and nguyen2 stay.");
  EXPECT_EQ(applied(lines, "C++, not C+ or C."), "see plus plus, not C+ or C.");
  EXPECT_EQ(applied("", "as it is"), "as it is");
}

TEST(Lexicon, CaseCountsWhereTheEntryHasACapital) {
  EXPECT_EQ(applied("US\tunited states\n", "The US and us."), "The united states and us.");
  EXPECT_EQ(applied("us\tours\nUS\tunited states\n", "US us Us"), "united states ours ours");
}

TEST(Lexicon, TheLongestIsTakenAndBlanksBetweenItsWordsDoNotCount) {
  const std::string lines = "new\tnoo\nnew york\tnoo yawk\nnew york times\tthe times\n";
  EXPECT_EQ(applied(lines, "New  York\nTimes, New York, new."), "the times, noo yawk, noo.");
  EXPECT_EQ(applied("a\tb\nb\tc\n", "a b"), "b c");  // what is said is not looked up again
}

TEST(Lexicon, AnEntryOfALanguageHoldsForItAndGoesBeforeTheGeneralOne) {
  const std::string lines = "chat\ttalk\nchat\tcha\tfr\n";
  EXPECT_EQ(applied(lines, "chat", Language::En), "talk");
  EXPECT_EQ(applied(lines, "chat", Language::Fr), "cha");
  EXPECT_EQ(applied("chat\tcha\tfr\n", "chat", Language::En), "chat");
}

TEST(Lexicon, WritingWithoutBlanksMatchesWithinARun) {
  EXPECT_EQ(applied("東京\tとうきょう\n", "東京都に行く。", Language::Ja), "とうきょう都に行く。");
}

TEST(Lexicon, MarksBelongToTheirLetters) {
  // "ki" with its vowel sign is another word than "k".
  EXPECT_EQ(applied("क\tX\n", "कि क", Language::Hi), "कि X");
}

TEST(Lexicon, WrongLinesAreNamed) {
  EXPECT_EQ(fault_of("one\ttwo\nalone\n"),
            "words.tsv, line 2: write a word, a tab and how it is said, and after another tab its "
            "language if it holds for one alone.");
  EXPECT_EQ(fault_of("a\tb\ten\tmore\n").substr(0, 17), "words.tsv, line 1");
  EXPECT_EQ(fault_of("a\tb\tklingon\n"),
            "words.tsv, line 1: \"klingon\" is no language; write a code such as en or pt-BR.");
  EXPECT_EQ(fault_of("a\tb\n\nA\tc\na\td\n"),
            "words.tsv, line 4: \"a\" is there already, said as \"b\"; leave one of them out.");
  EXPECT_EQ(fault_of("a\t\xff\n"), "words.tsv is not UTF-8 at byte 2; save it as UTF-8.");
}

TEST(Lexicon, FilesOfOtherSystemsAreRead) {
  EXPECT_EQ(applied("\xEF\xBB\xBFSQL\tsequel\r\nhttp\tweb\r\n", "SQL by http"), "sequel by web");
}

}  // namespace
}  // namespace myxtts::lexicon_test
