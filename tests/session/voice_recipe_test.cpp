// SPDX-License-Identifier: Apache-2.0
#include "session/voice/voice_recipe.h"

#include <gtest/gtest.h>

namespace myxtts::test::voice_recipe_test {
namespace {

TEST(VoiceRecipe, LittleSpeechIsGoneThroughMoreOften) {
  std::int64_t before = 1'000;
  for (const double minutes : {5.0, 20.0, 60.0, 200.0, 1'000.0}) {
    const auto recipe = recipe_for(minutes, static_cast<std::int64_t>(minutes * 10), true);
    EXPECT_LT(recipe.epochs, before) << minutes;
    before = recipe.epochs;
  }
}

TEST(VoiceRecipe, ACorpusHasBatchesEnoughAndClipsToValidateOn) {
  for (const std::int64_t clips : {1, 10, 40, 100, 10'000}) {
    for (const bool has_gpu : {false, true}) {
      const auto recipe = recipe_for(static_cast<double>(clips) / 10, clips, has_gpu);
      EXPECT_GE(recipe.batch_size, 1);
      EXPECT_LE(recipe.batch_size, has_gpu ? 16 : 4);
      EXPECT_LE(recipe.batch_size * 8, std::max<std::int64_t>(8, clips));
      EXPECT_GE(recipe.val_fraction * static_cast<double>(clips), clips >= 20 ? 3.99 : 0.19);
      EXPECT_LE(recipe.val_fraction, 0.2);
      EXPECT_GE(recipe.steps(clips), recipe.epochs) << "a step in each epoch";
    }
  }
}

TEST(VoiceRecipe, GuessesOfTimeGrowWithTheWorkAndShrinkWithTheMachine) {
  const VoiceMachine laptop{.has_gpu = false, .cores = 2};
  const VoiceMachine desktop{.has_gpu = false, .cores = 16};
  const VoiceMachine server{.has_gpu = true, .cores = 16};
  EXPECT_DOUBLE_EQ(hearing_seconds(7'200, laptop), 2 * hearing_seconds(3'600, laptop));
  EXPECT_LT(hearing_seconds(3'600, desktop), hearing_seconds(3'600, laptop));
  EXPECT_LT(hearing_seconds(3'600, server), hearing_seconds(3'600, desktop));
  const auto recipe = recipe_for(10, 100, true);
  const auto small = training_seconds(recipe, 100, 600, 1'000'000, laptop);
  EXPECT_DOUBLE_EQ(training_seconds(recipe, 100, 600, 2'000'000, laptop), 2 * small);
  EXPECT_GT(training_seconds(recipe, 200, 1'200, 1'000'000, laptop), small);
  EXPECT_LT(training_seconds(recipe, 100, 600, 1'000'000, server), small);
}

}  // namespace
}  // namespace myxtts::test::voice_recipe_test
