// SPDX-License-Identifier: Apache-2.0
#include "session/save_schedule.h"

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace myxtts::test::save_schedule_test {
namespace {

using namespace std::chrono_literals;

TEST(SaveSchedule, EverySoManyStepsAndNeverTwiceForOne) {
  const FakeClock clock;
  SaveSchedule schedule({.save_steps = 10, .save_minutes = {}}, clock);
  EXPECT_FALSE(schedule.due(9));
  EXPECT_TRUE(schedule.due(10));
  schedule.saved(10);
  EXPECT_FALSE(schedule.due(10));
  EXPECT_TRUE(schedule.due(20));
}

TEST(SaveSchedule, EverySoManyMinutesSinceTheLastOneWhateverMadeIt) {
  FakeClock clock;
  SaveSchedule schedule({.save_steps = {}, .save_minutes = 2.0}, clock);
  clock.advance(119s);
  EXPECT_FALSE(schedule.due(5));
  clock.advance(1s);
  EXPECT_TRUE(schedule.due(5));
  schedule.saved(5);
  clock.advance(60s);
  schedule.saved(6);
  clock.advance(60s);
  EXPECT_FALSE(schedule.due(7));
  clock.advance(60s);
  EXPECT_TRUE(schedule.due(7));
}

TEST(SaveSchedule, NeitherMeansNever) {
  FakeClock clock;
  const SaveSchedule schedule({.save_steps = {}, .save_minutes = {}}, clock);
  clock.advance(1000h);
  EXPECT_FALSE(schedule.due(1000));
}

TEST(ValidationSchedule, EverySoManyStepsOrAtTheEndOfEachEpoch) {
  EXPECT_TRUE(validation_is_due(4, 8, false));
  EXPECT_FALSE(validation_is_due(4, 9, true));
  EXPECT_TRUE(validation_is_due(std::nullopt, 9, true));
  EXPECT_FALSE(validation_is_due(std::nullopt, 8, false));
}

TEST(ValidationSchedule, WhatNobodyChoseFollowsFromTheLengthOfTheRun) {
  RunConfig config;
  EXPECT_EQ(eval_steps_of(config, 5000), std::nullopt) << "once an epoch";
  config.train.stage_budget = {{ModelPart::Gpt, {.steps = 6000, .hours = 1.0}}};
  EXPECT_EQ(eval_steps_of(config, 6000), 300);
  EXPECT_EQ(eval_steps_of(config, 7), 1);
  config.run.eval_steps = 500;
  EXPECT_EQ(eval_steps_of(config, 6000), 500);
  EXPECT_EQ(warmup_steps_of(config.train, 6000), 0) << "the default has none";
  config.train.warmup_steps.reset();
  EXPECT_EQ(warmup_steps_of(config.train, 6000), 200);
  EXPECT_EQ(warmup_steps_of(config.train, 692), 69);
}

}  // namespace
}  // namespace myxtts::test::save_schedule_test
