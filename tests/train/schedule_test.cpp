// SPDX-License-Identifier: Apache-2.0
#include "train/schedule.h"

#include <gtest/gtest.h>

namespace myxtts::schedule_test {
namespace {

constexpr double kRate = 1e-4;

TEST(Schedule, ThePeersRecipeHalvesTheRateByEpochsAndNotBySteps) {
  const ScheduleSettings settings{.kind = ScheduleKind::Steps, .learning_rate = kRate};
  EXPECT_EQ(learning_rate(settings, 10'000'000, 899'999), kRate);
  EXPECT_EQ(learning_rate(settings, 0, 900'000), kRate / 2);
  EXPECT_EQ(learning_rate(settings, 0, 2'700'000), kRate / 4);
  EXPECT_EQ(learning_rate(settings, 0, 5'400'000), kRate / 8);
}

TEST(Schedule, AConstantRateNeverChanges) {
  const ScheduleSettings settings{.kind = ScheduleKind::Constant, .learning_rate = kRate};
  EXPECT_EQ(learning_rate(settings, 0, 0), kRate);
  EXPECT_EQ(learning_rate(settings, 1'000'000'000, 9'000'000), kRate);
}

TEST(Schedule, TheWarmUpRisesInEqualStepsAndIsNeverZero) {
  for (const auto kind : {ScheduleKind::Steps, ScheduleKind::Constant, ScheduleKind::Cosine}) {
    const ScheduleSettings settings{
        .kind = kind, .learning_rate = kRate, .warmup_steps = 4, .last_step = 100};
    EXPECT_DOUBLE_EQ(learning_rate(settings, 0, 0), kRate / 4);
    EXPECT_DOUBLE_EQ(learning_rate(settings, 1, 0), kRate / 2);
    EXPECT_DOUBLE_EQ(learning_rate(settings, 3, 0), kRate);
    EXPECT_DOUBLE_EQ(learning_rate(settings, 4, 0), kRate);
  }
}

TEST(Schedule, TheCosineIsWholeAfterTheWarmUpHalfInTheMiddleAndNothingAtTheEnd) {
  const ScheduleSettings settings{
      .kind = ScheduleKind::Cosine, .learning_rate = kRate, .warmup_steps = 10, .last_step = 110};
  EXPECT_DOUBLE_EQ(learning_rate(settings, 10, 0), kRate);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 60, 0), kRate / 2);
  EXPECT_GT(learning_rate(settings, 109, 0), 0) << "the last step that is trained";
  EXPECT_LT(learning_rate(settings, 109, 0), kRate / 1000);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 110, 0), 0);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 500, 0), 0) << "it does not rise again";
}

TEST(Schedule, ACosineWithMinutesEndsWithTheClockOrTheLastStep) {
  ScheduleSettings settings{
      .kind = ScheduleKind::Cosine, .learning_rate = kRate, .last_step = 100, .most_seconds = 60};
  EXPECT_DOUBLE_EQ(learning_rate(settings, 0, 0, 30), kRate / 2);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 0, 0, 60), 0);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 50, 0, 10), kRate / 2) << "steps are further";
  settings.kind = ScheduleKind::Constant;
  EXPECT_DOUBLE_EQ(learning_rate(settings, 0, 0, 59), kRate);
}

}  // namespace
}  // namespace myxtts::schedule_test
