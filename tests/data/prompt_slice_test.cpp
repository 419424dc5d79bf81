// SPDX-License-Identifier: Apache-2.0
#include "data/batches/sound_window.h"

#include <set>

#include <gtest/gtest.h>

#include "support/effort.h"

namespace myxtts::prompt_slice_test {
namespace {

constexpr std::int64_t kTenSeconds = 220'500;

std::pair<std::int64_t, std::int64_t> drawn(const VisitDraw& draw, std::int64_t samples) {
  const PromptSpan span = training_prompt(draw, samples);
  return {span.first, span.last};
}

TEST(PromptSlice, IsThreeToSixSecondsFromAnywhere) {
  std::int64_t shortest = kTenSeconds;
  std::int64_t longest = 0;
  std::int64_t earliest = kTenSeconds;
  std::int64_t latest = 0;
  const int epochs = test::repetitions(4000);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const PromptSpan span = training_prompt({.epoch = epoch, .clip_id = "a"}, kTenSeconds);
    const std::int64_t length = span.last - span.first;
    ASSERT_GE(span.first, 0);
    ASSERT_LE(span.last, kTenSeconds);
    shortest = std::min(shortest, length);
    longest = std::max(longest, length);
    earliest = std::min(earliest, span.first);
    latest = std::max(latest, span.last);
  }
  EXPECT_GE(shortest, 66'150);
  EXPECT_LT(shortest, 67'500);
  EXPECT_LE(longest, 132'300);
  EXPECT_GT(longest, 131'000);
  EXPECT_LT(earliest, 2000);
  EXPECT_GT(latest, kTenSeconds - 2000);
}

TEST(PromptSlice, AClipShorterThanTheDrawGivesHalfOfItself) {
  for (std::int64_t epoch = 0; epoch < 50; ++epoch) {
    const PromptSpan span = training_prompt({.epoch = epoch, .clip_id = "short"}, 30'001);
    EXPECT_EQ(span.last - span.first, 15'000);
    EXPECT_LE(span.last, 30'001);
  }
}

TEST(PromptSlice, AShiftIsLessThanACodeAndAnotherOnEachVisit) {
  std::set<std::int64_t> seen;
  for (std::int64_t epoch = 0; epoch < 400; ++epoch) {
    const VisitDraw draw{.seed = 3, .epoch = epoch, .clip_id = "a"};
    const std::int64_t shift = training_shift(draw);
    ASSERT_GE(shift, 0);
    ASSERT_LT(shift, 1024);
    EXPECT_EQ(training_shift(draw), shift);
    seen.insert(shift);
  }
  EXPECT_GT(seen.size(), 250U);
  EXPECT_GT(*seen.rbegin(), 1000);
  EXPECT_NE(training_shift({.clip_id = "a", .repeat = 1}), training_shift({.clip_id = "a"}));
}

TEST(PromptSlice, EvaluationTakesTheBeginning) {
  EXPECT_EQ(evaluation_prompt(kTenSeconds).first, 0);
  EXPECT_EQ(evaluation_prompt(kTenSeconds).last, 99'225);
  EXPECT_EQ(evaluation_prompt(99'225).last, 99'225);
  EXPECT_EQ(evaluation_prompt(99'224).last, 49'612);
}

TEST(PromptSlice, DependsOnSeedEpochClipAndRepeatAndNothingElse) {
  const VisitDraw draw{.seed = 1, .epoch = 2, .clip_id = "x", .repeat = 0};
  EXPECT_EQ(drawn(draw, kTenSeconds), drawn(draw, kTenSeconds));
  std::set<std::pair<std::int64_t, std::int64_t>> spans;
  for (const VisitDraw& other : {draw, VisitDraw{2, 2, "x", 0}, VisitDraw{1, 3, "x", 0},
                                 VisitDraw{1, 2, "y", 0}, VisitDraw{1, 2, "x", 1}}) {
    spans.insert(drawn(other, kTenSeconds));
  }
  EXPECT_EQ(spans.size(), 5U);
}

TEST(CodeNoise, ReplacesItsShareOfTheCodesAnewOnEachVisit) {
  constexpr std::int64_t kCount = 4000;
  const VisitDraw draw{.seed = 3, .epoch = 2, .clip_id = "clip"};
  const auto replaced = training_noise(draw, 0.25, kCount, 16);
  EXPECT_NEAR(static_cast<double>(replaced.size()) / kCount, 0.25, 0.03);
  std::set<std::int64_t> codes;
  std::int64_t before = -1;
  for (const auto& [place, code] : replaced) {
    ASSERT_GT(place, before) << "each place once";
    ASSERT_LT(place, kCount);
    before = place;
    codes.insert(code);
  }
  EXPECT_EQ(codes.size(), 16U);
  EXPECT_EQ(*codes.begin(), 0);
  EXPECT_EQ(*codes.rbegin(), 15);

  EXPECT_EQ(training_noise(draw, 0.25, kCount, 16), replaced);
  EXPECT_TRUE(training_noise(draw, 0.0, kCount, 16).empty());
  for (const VisitDraw& other :
       {VisitDraw{.seed = 4, .epoch = 2, .clip_id = "clip"},
        VisitDraw{.seed = 3, .epoch = 3, .clip_id = "clip"},
        VisitDraw{.seed = 3, .epoch = 2, .clip_id = "other"},
        VisitDraw{.seed = 3, .epoch = 2, .clip_id = "clip", .repeat = 1}}) {
    EXPECT_NE(training_noise(other, 0.25, kCount, 16), replaced);
  }
}

}  // namespace
}  // namespace myxtts::prompt_slice_test
