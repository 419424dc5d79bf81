// SPDX-License-Identifier: Apache-2.0
#include "clips/cuts.h"

#include <cmath>

#include <gtest/gtest.h>

namespace myxtts::test::speech_test {
namespace {

// A recording in which somebody speaks at -20 dB between times, over silence at `quiet` dB.
struct Talk {
  double begin, end;
};

SoundCourse course_of(double seconds, std::initializer_list<Talk> talks, float quiet = -70.0F) {
  SoundCourse course;
  course.level.assign(static_cast<std::size_t>(std::lround(seconds / kLevelStep)), quiet);
  course.clipped.assign(course.level.size(), 0.0F);
  course.speech.assign(static_cast<std::size_t>(std::ceil(seconds / kSpeechStep)), 0.01F);
  for (const auto& [begin, end] : talks) {
    for (auto i = std::lround(begin / kLevelStep); i < std::lround(end / kLevelStep); ++i) {
      course.level[static_cast<std::size_t>(i)] = -20.0F - static_cast<float>(i % 5);
    }
    for (auto i = std::lround(begin / kSpeechStep); i < std::lround(end / kSpeechStep); ++i) {
      course.speech[static_cast<std::size_t>(i)] = 0.97F;
    }
  }
  return course;
}

TEST(Speech, IsCutAtPausesAndItsEdgesAreThoseOfTheSound) {
  const auto units = speech_units(course_of(10, {{1.03, 3.21}, {3.61, 6.0}, {8.0, 9.5}}), 0.2);
  ASSERT_EQ(units.size(), 3U);
  EXPECT_NEAR(units[0].begin, 1.03, 0.011);
  EXPECT_NEAR(units[0].end, 3.21, 0.011);
  EXPECT_NEAR(units[1].begin, 3.61, 0.011);
  EXPECT_NEAR(units[2].end, 9.5, 0.011);
}

TEST(Speech, APauseShorterThanAskedForIsNoCut) {
  EXPECT_EQ(speech_units(course_of(6, {{1, 3}, {3.15, 5}}), 0.2).size(), 1U);
  EXPECT_EQ(speech_units(course_of(6, {{1, 3}, {3.15, 5}}), 0.1).size(), 2U);
}

// A held breath before a stop: quiet, while the voice activity goes on.
TEST(Speech, AQuietPlaceAloneIsNoPause) {
  auto course = course_of(6, {{1, 5}});
  for (std::size_t i = 290; i < 315; ++i) course.level[i] = -70.0F;
  EXPECT_EQ(speech_units(course, 0.2).size(), 1U);
}

TEST(Speech, WeakSoundsAtTheEdgesBelongToIt) {
  auto course = course_of(6, {{2, 4}});
  for (std::size_t i = 400; i < 412; ++i)
    course.level[i] = -50.0F;  // a last s, not heard as speech
  for (std::size_t i = 190; i < 200; ++i) course.level[i] = -50.0F;
  const auto units = speech_units(course, 0.2);
  ASSERT_EQ(units.size(), 1U);
  EXPECT_NEAR(units[0].begin, 1.9, 0.011);
  EXPECT_NEAR(units[0].end, 4.12, 0.011);
}

TEST(Speech, InNoiseItIsStillFoundWhole) {
  const auto units = speech_units(course_of(10, {{1, 3}, {4, 6}}, -36.0F), 0.2);
  ASSERT_EQ(units.size(), 2U);
  EXPECT_NEAR(units[0].seconds(), 2.0, 0.05);
}

TEST(Speech, LoudNoiseIsNone) {
  auto course = course_of(10, {});
  for (std::size_t i = 300; i < 600; ++i) course.level[i] = -15.0F;
  EXPECT_TRUE(speech_units(course, 0.2).empty());
  EXPECT_TRUE(speech_units(SoundCourse(), 0.2).empty());
}

TEST(Speech, LevelsAreSharesOfASteps) {
  const auto course = course_of(10, {{5, 9}});
  EXPECT_FLOAT_EQ(quiet_level(course, 0, 10), -70.0F);
  EXPECT_NEAR(loud_level(course, 0, 10), -20.0F, 1.1F);
  EXPECT_FLOAT_EQ(quiet_level(course, 20, 30), kQuietest);
}

}  // namespace
}  // namespace myxtts::test::speech_test
