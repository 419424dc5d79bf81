// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/profile.h"

#include <gtest/gtest.h>

#include "diagnose/profile/made_reading.h"
#include "diagnose/profile/remedies.h"

namespace myxtts::grades_test {
namespace {

const Threshold& named(const std::vector<Threshold>& all, const std::string& name) {
  for (const Threshold& threshold : all) {
    if (threshold.name == name) return threshold;
  }
  throw std::runtime_error(name);
}

Profile with_gpu(double model_use, Mode mode = Mode::Single) {
  TrialReading reading = test::reading_of({});
  reading.model.gpu = GpuUse{.busy_share = model_use};
  reading.data.gpu = GpuUse{.busy_share = 0.9};
  ProfileSetup setup{.cores = 8};
  setup.plan.mode = mode;
  return make_profile(setup, reading);
}

TEST(Grades, AThresholdIsCrossedBeyondItsLimitAndNotAtIt) {
  const Threshold most{.limit = 0.2, .measured = 0.2};
  EXPECT_FALSE(most.is_crossed());
  EXPECT_TRUE((Threshold{.limit = 0.2, .measured = 0.201}).is_crossed());
  EXPECT_TRUE((Threshold{.limit = 0.7, .is_least = true, .measured = 0.69}).is_crossed());
  EXPECT_FALSE((Threshold{.limit = 0.7, .is_least = true, .measured = {}}).is_crossed());
}

TEST(Grades, WaitingForAQuarterOfTheTimeCrossesTheLimitOfDataLoading) {
  const auto thresholds = thresholds_of(test::made_profile({.encoding = 0.128}));
  EXPECT_NEAR(*named(thresholds, "data loading").measured, 0.25, 0.01);
  EXPECT_TRUE(named(thresholds, "data loading").is_crossed());
  EXPECT_FALSE(named(thresholds, "transfer").is_crossed());
  EXPECT_FALSE(named(thresholds, "model GPU").measured);
}

TEST(Grades, TheDataGpuIsShownWhereItIsAnotherCardAndNeverGraded) {
  EXPECT_FALSE(named(thresholds_of(with_gpu(0.99)), "data GPU").measured);
  const Profile dual = with_gpu(0.99, Mode::Dual);
  EXPECT_TRUE(named(thresholds_of(dual), "data GPU").is_crossed());
  EXPECT_EQ(grade_of(marks_of(dual)), Grade::Excellent);
}

TEST(Grades, TheWorstMarkIsTheGrade) {
  EXPECT_EQ(grade_of(marks_of(with_gpu(0.95))), Grade::Excellent);
  EXPECT_EQ(grade_of(marks_of(with_gpu(0.85))), Grade::Good);
  EXPECT_EQ(grade_of(marks_of(with_gpu(0.75))), Grade::Minimum);
  EXPECT_EQ(grade_of(marks_of(with_gpu(0.60))), Grade::Poor);
}

TEST(Grades, StepsOfDifferentWorkAreNoVariation) {
  const std::vector<double> seconds{0.1, 0.2, 0.3};
  const std::vector<std::int64_t> tokens{100, 200, 300};
  EXPECT_NEAR(variation_at_equal_work(seconds, tokens), 0, 1e-9);
  EXPECT_NEAR(statistics_of(seconds).variation, 0.408, 0.001);
}

TEST(StepStatistics, PercentilesLieBetweenTheNearestSteps) {
  std::vector<double> seconds;
  for (int i = 0; i <= 100; ++i) seconds.push_back(i);
  const StepStatistics steps = statistics_of(seconds);
  EXPECT_DOUBLE_EQ(steps.mean, 50);
  EXPECT_DOUBLE_EQ(steps.p50, 50);
  EXPECT_DOUBLE_EQ(steps.p99, 99);
  EXPECT_DOUBLE_EQ(steps.highest, 100);
}

TEST(Alternatives, GraphsAreTriedOnAGpuWhoseHostIsTheSlower) {
  ProfileSetup setup{.cores = 8};
  setup.plan.model.gpu.emplace();
  setup.plan.data.gpu.emplace();
  TrialReading reading = test::reading_of({});
  reading.lone = LoneStep{.host_seconds = 0.010, .after_seconds = 0.001};
  const auto knobs = worth_trying(make_profile(setup, reading));
  ASSERT_EQ(knobs.size(), 1);
  EXPECT_EQ(knobs[0].flag, "--enable-static-shapes");
  setup.static_shapes = true;
  EXPECT_TRUE(worth_trying(make_profile(setup, reading)).empty());
  setup.static_shapes = false;
  reading.lone->after_seconds = 0.010;
  EXPECT_TRUE(worth_trying(make_profile(setup, reading)).empty());
}

TEST(Alternatives, ABudgetOfTokensIsTriedWhereMuchIsPadding) {
  TrialReading reading = test::reading_of({});
  reading.tokens *= 2;
  reading.useful_tokens = reading.tokens * 8 / 10;
  const auto knobs = worth_trying(make_profile({.cores = 8}, reading));
  ASSERT_EQ(knobs.size(), 1);
  EXPECT_EQ(knobs[0].flag, "--batch-tokens 2000");
  reading.useful_tokens = reading.tokens * 97 / 100;
  EXPECT_TRUE(worth_trying(make_profile({.cores = 8}, reading)).empty());
}

TEST(Alternatives, ABudgetThatTheConfigurationDoesNotAllowIsNotTried) {
  TrialReading reading = test::reading_of({});
  reading.tokens = 40 * reading.batches;  // and 64 are the fewest
  reading.useful_tokens = reading.tokens / 2;
  EXPECT_TRUE(worth_trying(make_profile({.cores = 8}, reading)).empty());
}

TEST(Alternatives, LargerBatchesAreTriedWhereEachCopyWaits) {
  const auto knobs = worth_trying(test::made_profile({.transfer = 0.275}));
  ASSERT_EQ(knobs.size(), 1);
  EXPECT_EQ(knobs[0].flag, "--batch-size 16");
}

}  // namespace
}  // namespace myxtts::grades_test
