// SPDX-License-Identifier: Apache-2.0
#include "clips/corpus_folder.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::test::corrections_test {
namespace {

std::vector<Correction> parse(const std::string& clips) {
  return parse_corrections(
      R"({"format": "myxtts-corrections", "version": 1, "clips": [)" + clips + "]}", "c.json");
}

std::string error_of(const std::string& clips) {
  try {
    parse(clips);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Corrections, WhatWasTouchedIsReadAndWhatWasNotIsNothing) {
  const auto found = parse(
      R"({"clip": "a-1", "was": "teh", "text": " the  cat "}, {"clip": "a-2", "accepted": false},)"
      R"({"clip": "a-3", "text": null, "accepted": true})");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].text, "the cat");
  EXPECT_EQ(found[0].was, "teh");
  EXPECT_FALSE(found[0].accepted.has_value());
  EXPECT_FALSE(found[1].text.has_value());
  EXPECT_EQ(found[1].accepted, false);
  EXPECT_EQ(found[2].accepted, true);
}

TEST(Corrections, AnythingElseIsRefusedWithASentence) {
  EXPECT_EQ(error_of(R"({"clip": "a"}, {"clip": "a"})"), "c.json corrects the clip a twice.");
  EXPECT_EQ(error_of(R"({"clip": "../a"})"), "c.json: a clip has no name.");
  EXPECT_EQ(error_of(R"({"text": "a"})"), "c.json: a clip has no name.");
  EXPECT_EQ(error_of(R"({"clip": "a", "text": " "})"),
            "c.json: the text of a is empty; reject the clip to leave it out.");
  EXPECT_EQ(error_of(R"({"clip": "a", "accepted": 1})"),
            "c.json: \"accepted\" of a is neither true nor false.");
  EXPECT_EQ(error_of(R"({"clip": "a", "text": ")" + std::string(5'000, 'x') + "\"}"),
            "c.json: \"text\" of a clip is no text of a few seconds.");
  EXPECT_EQ(error_of("7"), "c.json: a clip is no object.");
  for (const char* other : {"", "[]", "{}", R"({"format": "x", "version": 1, "clips": []})",
                            R"({"format": "myxtts-corrections", "version": 1, "clips": {}})"}) {
    EXPECT_THROW(parse_corrections(other, "c.json"), DataError) << other;
  }
  EXPECT_THROW(
      parse_corrections(R"({"format": "myxtts-corrections", "version": 2, "clips": []})", "c.json"),
      DataError);
}

TEST(Corrections, NewerOnesCountAndOthersStay) {
  const auto older =
      parse(R"({"clip": "a", "was": "1", "text": "one"}, {"clip": "b", "accepted": false},)"
            R"({"clip": "c", "was": "3", "text": "three"})");
  const auto newer =
      parse(R"({"clip": "a", "was": "one", "text": "One."}, {"clip": "b", "accepted": true},)"
            R"({"clip": "c", "accepted": true}, {"clip": "d", "accepted": false})");
  const auto all = merged(older, newer);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].text, "One.");
  EXPECT_EQ(all[1].accepted, true);
  EXPECT_EQ(all[2].text, "three");
  EXPECT_EQ(all[2].accepted, true);
  EXPECT_EQ(all[3].accepted, false);
  const auto read = parse_corrections(to_json(all), "again");
  ASSERT_EQ(read.size(), 4U);
  EXPECT_EQ(read[0].text, all[0].text);
  EXPECT_EQ(read[0].was, "one");
  EXPECT_EQ(read[1].accepted, true);
  EXPECT_FALSE(read[1].text);
}

}  // namespace
}  // namespace myxtts::test::corrections_test
