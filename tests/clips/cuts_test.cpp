// SPDX-License-Identifier: Apache-2.0
#include "clips/cuts.h"

#include <gtest/gtest.h>

namespace myxtts::test::cuts_test {
namespace {

std::vector<CutUnit> units_of(std::initializer_list<std::pair<double, double>> times) {
  std::vector<CutUnit> units;
  for (const auto& [begin, end] : times) {
    units.push_back({.begin = begin, .end = end, .ends_phrase = true});
  }
  return units;
}

TEST(Cuts, EveryClipHasAsManySecondsAsItMayAndRoomAround) {
  std::vector<CutUnit> units;
  for (double at = 1; at < 600; at += 1.9) {
    units.push_back({.begin = at, .end = at + 1.5, .ends_phrase = true});
  }
  const auto clips = plan_clips(units, {}, 700);
  std::size_t next = 0;
  for (const CutClip& clip : clips) {
    EXPECT_EQ(clip.first, next) << "nothing is lost";
    next = clip.first + clip.count;
    EXPECT_GE(clip.seconds(), 2.0);
    EXPECT_LE(clip.seconds(), 11.0);
    EXPECT_NEAR(clip.begin, units[clip.first].begin - 0.15, 1e-9);
    EXPECT_NEAR(clip.end, units[next - 1].end + 0.15, 1e-9);
  }
  EXPECT_EQ(next, units.size());
}

TEST(Cuts, RoomEndsHalfWayToTheNeighbourAndAtTheRecordingsEnds) {
  const auto units = units_of({{0.05, 6}, {6.2, 14.1}});
  const auto clips = plan_clips(units, {}, 14.15);
  ASSERT_EQ(clips.size(), 2U);
  EXPECT_NEAR(clips[0].begin, 0.0, 1e-9);
  EXPECT_NEAR(clips[0].end, 6.1, 1e-9);
  EXPECT_NEAR(clips[1].begin, 6.1, 1e-9);
  EXPECT_NEAR(clips[1].end, 14.15, 1e-9);
}

// Going on as long as possible would cut after the third and leave the fourth alone, too short.
TEST(Cuts, AllWaysToCutAreCompared) {
  const auto clips =
      plan_clips(units_of({{1, 4}, {4.5, 7.5}, {8, 11}, {11.3, 12.2}}), {.longest_pause = 0.6}, 20);
  ASSERT_FALSE(clips.empty());
  std::size_t kept = 0;
  for (const CutClip& clip : clips) kept += clip.count;
  EXPECT_EQ(kept, 4U);
}

TEST(Cuts, TheLongestPauseAndTheEndOfASentenceAreTaken) {
  auto units = units_of({{1, 5}, {5.3, 8}, {8.9, 12}});
  auto clips = plan_clips(units, {}, 20);
  ASSERT_EQ(clips.size(), 2U);
  EXPECT_EQ(clips[0].count, 2U) << "the pause of 0.9 s";
  units = units_of({{1, 5}, {5.4, 8}, {8.4, 12}});
  units[0].ends_sentence = true;
  clips = plan_clips(units, {}, 20);
  ASSERT_EQ(clips.size(), 2U);
  EXPECT_EQ(clips[0].count, 1U);
}

TEST(Cuts, NoClipHoldsALongPauseTwoVoicesOrAFault) {
  auto units = units_of({{1, 4}, {6, 9}});
  EXPECT_EQ(plan_clips(units, {}, 20).size(), 2U) << "a pause of 2 s";
  units = units_of({{1, 4}, {4.3, 7}});
  units[1].voice = 1;
  EXPECT_EQ(plan_clips(units, {}, 20).size(), 2U);
  units[1].voice = 0;
  units[1].fault = "music";
  const auto clips = plan_clips(units, {}, 20);
  ASSERT_EQ(clips.size(), 1U);
  EXPECT_EQ(clips[0].count, 1U);
}

TEST(Cuts, WhatFitsIntoNoClipIsInNone) {
  EXPECT_TRUE(plan_clips(units_of({{1, 2.2}}), {}, 20).empty()) << "too short";
  EXPECT_TRUE(plan_clips(units_of({{1, 15}}), {}, 20).empty()) << "too long";
  EXPECT_EQ(plan_clips(units_of({{1, 2.2}}), {.min_seconds = 1.4}, 20).size(), 1U);
  EXPECT_EQ(plan_clips(units_of({{1, 15}}), {.max_seconds = 20}, 20).size(), 1U);
}

TimedWord word(const char* text, double begin, double end) {
  return {.text = text, .begin = begin, .end = end, .probability = 1};
}

TEST(Cuts, APauseInsideAWordIsNoCut) {
  const std::vector<Stretch> speech{{1, 2}, {2.12, 3}, {3.1, 4}};
  const auto units = units_of_words(
      speech,
      std::vector{word(" one", 1, 1.7), word(" twotwo", 1.75, 2.98), word(" three.", 3.05, 4)});
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[0].end, 3);
  EXPECT_EQ(units[1].begin, 3.1);
}

TEST(Cuts, ALongPauseIsNeverTheInsideOfAWord) {
  const auto units = units_of_words(std::vector<Stretch>{{1, 2}, {2.5, 3}},
                                    std::vector{word(" one", 1, 1.5), word(" two", 1.5, 3)});
  EXPECT_EQ(units.size(), 2U);
}

TEST(Cuts, SignsSayWhereSentencesAndPhrasesEnd) {
  const std::vector<Stretch> speech{{1, 2}, {2.3, 3}, {3.3, 4}, {4.3, 5}};
  const auto units =
      units_of_words(speech, std::vector{word(" One.”", 1, 2), word(" two,", 2.3, 3),
                                         word(" three", 3.3, 4), word(" four", 4.3, 5)});
  ASSERT_EQ(units.size(), 4U);
  EXPECT_TRUE(units[0].ends_sentence);
  EXPECT_TRUE(units[0].ends_phrase);
  EXPECT_FALSE(units[1].ends_sentence);
  EXPECT_TRUE(units[1].ends_phrase);
  EXPECT_FALSE(units[2].ends_phrase);
}

TEST(Cuts, WithoutWordsEveryPauseIsAPlaceToCut) {
  const auto units = units_of_words(std::vector<Stretch>{{1, 2}, {2.2, 3}}, {});
  ASSERT_EQ(units.size(), 2U);
  EXPECT_TRUE(units[0].ends_phrase);
}

}  // namespace
}  // namespace myxtts::test::cuts_test
