// SPDX-License-Identifier: Apache-2.0
#include "train/guards.h"

#include <limits>

#include <gtest/gtest.h>

namespace myxtts::guards_test {
namespace {

constexpr double kSpikeFactor = 3.0;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

StepNumbers with_loss(double loss) {
  return {.loss = loss};
}

StepNumbers left_out(double loss, double loss_scale = 1) {
  return {.loss = loss, .skipped = true, .loss_scale = loss_scale};
}

TEST(Guards, ALossFarAboveItsRunningMeanIsASpikeAndOneAtTheLimitIsNot) {
  TrainingState state;
  for (int step = 0; step < 10; ++step) {
    EXPECT_EQ(judge(kSpikeFactor, with_loss(2.0), state), StepVerdict::Fine);
  }
  EXPECT_DOUBLE_EQ(state.mean_loss, 2.0);
  TrainingState other = state;
  EXPECT_EQ(judge(kSpikeFactor, with_loss(6.0), state), StepVerdict::Fine);
  EXPECT_EQ(judge(kSpikeFactor, with_loss(6.01), other), StepVerdict::Spike);
}

TEST(Guards, TheFirstLossIsNoSpikeHoweverLargeItIs) {
  TrainingState state;
  EXPECT_EQ(judge(kSpikeFactor, with_loss(1e6), state), StepVerdict::Fine);
}

TEST(Guards, OneHugeLossDoesNotHideTheNext) {
  TrainingState state;
  judge(kSpikeFactor, with_loss(2.0), state);
  EXPECT_EQ(judge(kSpikeFactor, with_loss(1e30), state), StepVerdict::Spike);
  EXPECT_LT(state.mean_loss, 2.1);
  EXPECT_EQ(judge(kSpikeFactor, with_loss(7.0), state), StepVerdict::Spike);
}

TEST(Guards, ALossThatStaysHighBecomesTheMean) {
  TrainingState state;
  judge(kSpikeFactor, with_loss(1.0), state);
  int spikes = 0;
  for (int step = 0; step < 200; ++step) {
    if (judge(kSpikeFactor, with_loss(5.0), state) == StepVerdict::Spike) ++spikes;
  }
  EXPECT_GT(spikes, 0);
  EXPECT_LT(spikes, 30);
}

TEST(Guards, AFallingLossIsFollowed) {
  TrainingState state;
  for (int step = 0; step < 500; ++step)
    judge(kSpikeFactor, with_loss(step < 5 ? 8.0 : 2.0), state);
  EXPECT_NEAR(state.mean_loss, 2.0, 0.01);
}

TEST(Guards, StepsThatAreNotFiniteAreCountedAndLeaveTheMeanAlone) {
  TrainingState state;
  judge(kSpikeFactor, with_loss(2.0), state);
  EXPECT_EQ(judge(kSpikeFactor, left_out(kNan), state), StepVerdict::Bad);
  EXPECT_EQ(judge(kSpikeFactor, left_out(2.0), state), StepVerdict::Bad)
      << "its gradient was not finite";
  EXPECT_EQ(state.skipped_steps, 2);
  EXPECT_EQ(state.bad_steps, 2);
  EXPECT_DOUBLE_EQ(state.mean_loss, 2.0);
  judge(kSpikeFactor, with_loss(2.0), state);
  EXPECT_EQ(state.bad_steps, 0) << "only those in a row";
  EXPECT_EQ(state.skipped_steps, 2);
}

TEST(Guards, TooManyBadStepsAreThoseInARow) {
  TrainingState state;
  for (int round = 0; round < 5; ++round) {
    judge(kSpikeFactor, left_out(kNan), state);
    judge(kSpikeFactor, left_out(kNan), state);
    EXPECT_FALSE(too_many_bad_steps(3, state));
    judge(kSpikeFactor, with_loss(1.0), state);
  }
  for (int step = 0; step < 3; ++step) judge(kSpikeFactor, left_out(kNan), state);
  EXPECT_TRUE(too_many_bad_steps(3, state));
}

TEST(Guards, TheSearchForALossScaleIsNotTheDatasFault) {
  TrainingState state;
  EXPECT_EQ(judge(kSpikeFactor, left_out(2.0, 65536), state), StepVerdict::Rescaled);
  EXPECT_EQ(state.bad_steps, 0);
  EXPECT_EQ(state.skipped_steps, 1);
  EXPECT_EQ(judge(kSpikeFactor, left_out(kNan, 65536), state), StepVerdict::Bad)
      << "the loss itself";
  EXPECT_EQ(judge(kSpikeFactor, left_out(2.0, 1), state), StepVerdict::Bad)
      << "no smaller scale would help";
}

TEST(Guards, TheBestEvaluationIsTheLowestFiniteOne) {
  TrainingState state;
  EXPECT_FALSE(judge_evaluation(kNan, state));
  EXPECT_FALSE(state.validation_loss.has_value());
  EXPECT_TRUE(judge_evaluation(3.0, state));
  EXPECT_FALSE(judge_evaluation(3.0, state)) << "equal is not better";
  EXPECT_TRUE(judge_evaluation(2.5, state));
  EXPECT_FALSE(judge_evaluation(2.6, state));
  EXPECT_FALSE(judge_evaluation(kNan, state));
  EXPECT_EQ(state.best_validation_loss, 2.5);
  EXPECT_EQ(state.evaluations_since_best, 2);
}

TEST(Guards, EarlyStoppingCountsEvaluationsSinceTheBest) {
  TrainingState state;
  judge_evaluation(2.0, state);
  judge_evaluation(2.1, state);
  EXPECT_FALSE(stops_early(2, state));
  EXPECT_FALSE(stops_early(std::nullopt, state));
  TrainingState better = state;
  judge_evaluation(1.9, better);
  EXPECT_FALSE(stops_early(2, better));
  judge_evaluation(2.0, state);
  EXPECT_TRUE(stops_early(2, state));
  EXPECT_FALSE(stops_early(std::nullopt, state)) << "it was not asked for";
}

}  // namespace
}  // namespace myxtts::guards_test
