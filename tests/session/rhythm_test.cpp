// SPDX-License-Identifier: Apache-2.0
#include "session/save_schedule.h"

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace myxtts::test::rhythm_test {
namespace {

using namespace std::chrono_literals;

TEST(SaveRhythm, EverySoManyStepsAndNeverTwiceForOne) {
  const FakeClock clock;
  SaveRhythm rhythm({.save_steps = 10, .save_minutes = {}}, clock);
  EXPECT_FALSE(rhythm.due(9));
  EXPECT_TRUE(rhythm.due(10));
  rhythm.saved(10);
  EXPECT_FALSE(rhythm.due(10));
  EXPECT_TRUE(rhythm.due(20));
}

TEST(SaveRhythm, EverySoManyMinutesSinceTheLastOneWhateverMadeIt) {
  FakeClock clock;
  SaveRhythm rhythm({.save_steps = {}, .save_minutes = 2.0}, clock);
  clock.advance(119s);
  EXPECT_FALSE(rhythm.due(5));
  clock.advance(1s);
  EXPECT_TRUE(rhythm.due(5));
  rhythm.saved(5);
  clock.advance(60s);
  rhythm.saved(6);
  clock.advance(60s);
  EXPECT_FALSE(rhythm.due(7));
  clock.advance(60s);
  EXPECT_TRUE(rhythm.due(7));
}

TEST(SaveRhythm, NeitherMeansNever) {
  FakeClock clock;
  const SaveRhythm rhythm({.save_steps = {}, .save_minutes = {}}, clock);
  clock.advance(1000h);
  EXPECT_FALSE(rhythm.due(1000));
}

TEST(MeasureRhythm, EverySoManyStepsOrAtTheEndOfEachEpoch) {
  const MeasureRhythm by_steps({.eval_steps = 4});
  EXPECT_TRUE(by_steps.due(8, false));
  EXPECT_FALSE(by_steps.due(9, true));
  const MeasureRhythm by_epochs({.eval_steps = {}});
  EXPECT_TRUE(by_epochs.due(9, true));
  EXPECT_FALSE(by_epochs.due(8, false));
}

}  // namespace
}  // namespace myxtts::test::rhythm_test
