// SPDX-License-Identifier: Apache-2.0
#include "diagnose/memory/memory_plan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/fake_gpus.h"

namespace myxtts::test::saving_plan_test {
namespace {

// xtts-v2 on one big card, under a cap for training.
RunConfig under_cap(std::int64_t megabytes, std::optional<std::int64_t> batch) {
  RunConfig config;
  config.train.model_size = "xtts-v2";
  config.train.batch_size = batch;
  config.devices.enable_memory_isolation = true;
  config.devices.model_gpu_memory = megabytes;
  return config;
}

DevicePlan planned(const RunConfig& config) {
  return plan_with_savers(config, FakeGpus().h200().machine, model_preset("xtts-v2"));
}

TEST(SavingPlan, WithRoomNothingIsSavedAndNothingIsSaid) {
  const DevicePlan found = planned(under_cap(40'000, 16));
  EXPECT_EQ(found.savers, MemorySavers{});
  EXPECT_TRUE(std::ranges::none_of(found.notes, [](const std::string& note) {
    return note.find("--moments") != std::string::npos;
  }));
}

TEST(SavingPlan, SmallCardsGetTheCheapestSaversThatFit) {
  EXPECT_EQ(planned(under_cap(11'000, 4)).savers, (MemorySavers{}));
  EXPECT_EQ(planned(under_cap(7'000, 1)).savers, (MemorySavers{.moments = Moments::Bf16}));
  EXPECT_EQ(planned(under_cap(7'500, 8)).savers,
            (MemorySavers{.recompute = true, .moments = Moments::Bf16}));
  EXPECT_EQ(planned(under_cap(5'500, 4)).savers,
            (MemorySavers{.recompute = true, .moments = Moments::EightBit}));
  EXPECT_TRUE(planned(under_cap(4'200, 1)).savers.release_gradients);
}

TEST(SavingPlan, WhatIsSavedIsSaidWithTheRoomAndTheEstimate) {
  const auto notes = planned(under_cap(7'000, 1)).notes;
  EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& note) {
    return note.starts_with("To fit into 7.3 GB, AdamW's averages are kept in bf16: 5.9 GB") &&
           note.ends_with("--moments, --recompute and --release-gradients set it.");
  }));
}

TEST(SavingPlan, WhatWasSetStaysAndClippingKeepsGradients) {
  RunConfig config = under_cap(7'500, 8);
  config.train.moments = Moments::EightBit;
  config.train.recompute = false;
  for (const MemorySavers& choice : saver_choices(config.train)) {
    EXPECT_EQ(choice.moments, Moments::EightBit);
    EXPECT_FALSE(choice.recompute);
  }
  config.train.grad_clip = 1.0;
  EXPECT_TRUE(std::ranges::none_of(saver_choices(config.train), &MemorySavers::release_gradients));
}

TEST(SavingPlan, ABatchThatIsNotSetIsKeptAtFourClipsBySavers) {
  const DevicePlan found = planned(under_cap(8'000, {}));
  EXPECT_GE(found.batch_size, 4);
  EXPECT_NE(found.savers, MemorySavers{});
}

TEST(SavingPlan, AGuideIsCounted) {
  RunConfig config = under_cap(40'000, 16);
  const DevicePlan plain = planned(config);
  config.train.guide = 2.0;
  const std::int64_t more = planned(config).model.estimated_bytes - plain.model.estimated_bytes;
  EXPECT_GT(more, 16 * 373 * 373 * 2 * 2 * 4);  // two layers of what the usual rows give
  EXPECT_LT(more, 2 * 16 * 373 * 373 * 2 * 2 * 4);
}

TEST(SavingPlan, WhereNoSaversHelpTheErrorIsThePlansOwn) {
  try {
    planned(under_cap(2'000, 1));
    FAIL() << "it fitted";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("--model-gpu-memory 2000 is less than training needs"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace myxtts::test::saving_plan_test
