// SPDX-License-Identifier: Apache-2.0
#include "clips/subtitles.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::test::subtitles_test {
namespace {

Subtitles parse(std::string_view text) {
  return parse_subtitles(text, "talk.srt");
}

std::string error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Subtitles, SubRipIsReadWithByteOrderMarkAndAnyLineEnds) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const auto found = parse(
        "\xEF\xBB\xBF"
        "1" +
        end + "00:00:01,500 --> 00:00:03,250" + end + "Hello," + end + "you there." + end + end +
        "2" + end + "01:00:00,000 --> 01:00:02,000" + end + "Bye." + end);
    ASSERT_EQ(found.cues.size(), 2U);
    EXPECT_DOUBLE_EQ(found.cues[0].begin, 1.5);
    EXPECT_DOUBLE_EQ(found.cues[0].end, 3.25);
    EXPECT_EQ(found.cues[0].text, "Hello, you there.");
    EXPECT_EQ(found.cues[0].line, 2);
    EXPECT_DOUBLE_EQ(found.cues[1].begin, 3600);
    EXPECT_EQ(found.cues[1].line, 7);
  }
}

TEST(Subtitles, WebVttIsReadWithoutItsNotesStylesAndNames) {
  const auto found = parse(
      "WEBVTT - a talk\nKind: captions\n\nSTYLE\n::cue { color: red }\n\nNOTE\nnot --> spoken\n\n"
      "intro\n00:01.000 --> 00:02.500 align:start position:0%\n<v Ann>Well, &amp; <i>so</i> on\n\n"
      "00:03.000 --> 00:04.000\n<00:03.100><c.big>Two</c>\n");
  ASSERT_EQ(found.cues.size(), 2U);
  EXPECT_EQ(found.cues[0].text, "Well, & so on");
  EXPECT_DOUBLE_EQ(found.cues[0].end, 2.5);
  EXPECT_EQ(found.cues[1].text, "Two");
}

TEST(Subtitles, NumbersAndBlankLinesMayBeMissing) {
  const auto found = parse(
      "00:00:01.000 --> 00:00:02.000\nOne.\n00:00:03,000 --> 00:00:04,000\nTwo.\n"
      "7\n00:00:05,0 --> 00:00:06,0\nThree\n\nand more.\n");
  ASSERT_EQ(found.cues.size(), 3U);
  EXPECT_EQ(found.cues[1].text, "Two.");
  EXPECT_EQ(found.cues[2].text, "Three and more.") << "a blank line within";
}

TEST(Subtitles, WhatIsNotSpokenIsTakenOut) {
  const auto found = parse(
      "1\n00:00:01,000 --> 00:00:02,000\n{\\an8}- [sighs] <font color=\"red\">Yes.</font>\n"
      "- Is 1 < 2?\n\n2\n00:00:03,000 --> 00:00:04,000\n[Music]\n\n"
      "3\n00:00:05,000 --> 00:00:06,000\n♪ la la ♪\n");
  ASSERT_EQ(found.cues.size(), 1U);
  EXPECT_EQ(found.cues[0].text, "Yes. Is 1 < 2?");
  ASSERT_EQ(found.skipped.size(), 2U);
  EXPECT_EQ(found.skipped[0], "line 7: It has nothing that is spoken.");
}

TEST(Subtitles, ThoseThatEndBeforeTheyBeginAreSkippedAndOthersKeptInOrder) {
  const auto found = parse(
      "1\n00:00:09,000 --> 00:00:12,000\nlate\n\n2\n00:00:05,000 --> 00:00:04,000\nback\n\n"
      "3\n00:00:01,000 --> 00:00:10,000\nearly\n");
  ASSERT_EQ(found.cues.size(), 2U);
  EXPECT_EQ(found.cues[0].text, "early");
  EXPECT_EQ(found.cues[1].text, "late") << "overlapping ones stay";
  ASSERT_EQ(found.skipped.size(), 1U);
  EXPECT_EQ(found.skipped[0], "line 6: It ends before it begins.");
}

TEST(Subtitles, PersianKeepsItsJoinersAndLosesMarksOfDirection) {
  const auto found =
      parse("1\n00:00:01,000 --> 00:00:02,000\n\u202Bمی\u200Cخواهم\u202C بروم.\u200F\n");
  ASSERT_EQ(found.cues.size(), 1U);
  EXPECT_EQ(found.cues[0].text, "می\u200Cخواهم بروم.");
}

TEST(Subtitles, FaultsAreNamedWithFileAndLine) {
  EXPECT_EQ(
      error_of("1\n00:00:01,000 -> 00:00:02,000\nHi\n"),
      "talk.srt, line 2: \"00:00:01,000 -> 00:00:02,000\" stands where a number or times such "
      "as 00:00:01,000 --> 00:00:02,500 belong.");
  EXPECT_NE(error_of("1\n00:00:01,000 --> 00:61:02,000\nHi\n").find("talk.srt, line 2: \"00:00:01"),
            std::string::npos);
  EXPECT_NE(error_of("1\n00:00:01,000 --> 99999:00:02,000\nHi\n").find("are no times"),
            std::string::npos);
  EXPECT_NE(error_of("").find("talk.srt holds no subtitles"), std::string::npos);
  EXPECT_NE(error_of("WEBVTT\n\n").find("holds no subtitles"), std::string::npos);
  EXPECT_NE(
      error_of("1\n00:00:01,000 --> 00:00:02,000\nH\xE9llo\n").find("line 3: this is no text"),
      std::string::npos);
  EXPECT_NE(error_of("\xFF\xFE"
                     "1")
                .find("UTF-16"),
            std::string::npos);
}

TEST(Subtitles, NoSizeOfAnythingIsTakenOnTrust) {
  std::string endless = "1\n00:00:01,000 --> 00:00:02,000\n";
  for (int i = 0; i < 2'000; ++i) endless += "word ";
  const auto found = parse(endless + "\n\n2\n00:00:03,000 --> 00:00:04,000\nend\n");
  ASSERT_EQ(found.cues.size(), 1U);
  EXPECT_EQ(found.skipped[0], "line 2: It is longer than anybody reads at once.");
  std::string digits(100'000, '9');
  EXPECT_NE(error_of(digits + ":" + digits + " --> x\n").find("are no times"), std::string::npos);
}

TEST(Subtitles, AreOneTextALineEach) {
  const auto found = parse(
      "1\n00:00:10,000 --> 00:00:12,000\nA longer\nword.\n\n"
      "2\n00:00:20,000 --> 00:00:24,000\nOver\n\n3\n00:00:23,000 --> 00:00:25,000\nlap\n");
  EXPECT_EQ(text_of(found), "A longer word.\nOver\nlap\n");
}

}  // namespace
}  // namespace myxtts::test::subtitles_test
