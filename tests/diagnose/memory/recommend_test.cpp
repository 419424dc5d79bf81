// SPDX-License-Identifier: Apache-2.0
#include "diagnose/memory/recommend.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "config/field.h"
#include "config/model.h"
#include "config/run_config.h"
#include "diagnose/memory/memory_plan.h"

namespace myxtts::recommend_test {
namespace {

constexpr std::int64_t kMegabyte = 1 << 20;

// The settings of "myxtts train --flag value ...".
RunConfig settings_of(const std::string& command) {
  std::istringstream words(command);
  std::vector<std::string> list{std::istream_iterator<std::string>(words), {}};
  RunConfig config;
  for (std::size_t i = 2; i < list.size(); ++i) {
    const auto& fields = all_fields();
    const auto field = std::ranges::find(fields, list[i], &Field::flag);
    if (field == fields.end()) {
      ADD_FAILURE() << list[i] << " is no flag";
      continue;
    }
    const bool is_switch = !field->negative_flag.empty();
    EXPECT_TRUE(field->assign({is_switch ? "true" : list[++i]}, config)) << list[i];
  }
  return config;
}

const CardSize& card(const std::string& name) {
  return *std::ranges::find(usual_cards(), name, &CardSize::name);
}

Recommendation row(const std::string& size, const std::string& memory, int cards,
                   std::optional<std::int64_t> batch = {}) {
  for (const Recommendation& found : recommend(size, batch, {}).rows) {
    if (found.memory == memory && found.cards == cards) return found;
  }
  ADD_FAILURE() << "no row for " << cards << " of " << memory;
  return {};
}

TEST(Recommend, EveryCommandAsksForJustThePlanOfItsRow) {
  int commands = 0;
  for (const std::string_view size : model_preset_names()) {
    for (const Recommendation& found : recommend(std::string(size), {}, {}).rows) {
      if (found.memory == "here" || !found.fits) continue;
      const RunConfig typed = settings_of(found.command);
      const DevicePlan plan = plan_with_savers(typed, machine_with(card(found.memory), found.cards),
                                               model_preset(size));
      EXPECT_EQ(plan.batch_size, found.plan.batch_size) << found.command;
      EXPECT_EQ(plan.grad_accum, found.plan.grad_accum) << found.command;
      EXPECT_EQ(plan.savers, found.plan.savers) << found.command;
      EXPECT_EQ(plan.ring_slots, found.plan.ring_slots) << found.command;
      EXPECT_EQ(plan.data, found.plan.data) << found.command;
      EXPECT_EQ(plan.model, found.plan.model) << found.command;
      EXPECT_TRUE(plan.warnings.empty()) << found.command << ": " << plan.warnings.front();
      ++commands;
    }
  }
  EXPECT_GE(commands, 70);  // of 80: five sizes on one and two of eight cards
}

// What users of the original program know.
TEST(Recommend, TwoCardsOfTheTableGetItsValuesWhereTheSizeFits) {
  const auto expect = [](const std::string& memory, std::int64_t batch, std::int64_t data,
                         std::int64_t model, std::int64_t slots) {
    const DevicePlan plan = row("normal", memory, 2).plan;
    EXPECT_EQ(plan.batch_size, batch) << memory;
    EXPECT_EQ(plan.grad_accum, 1) << memory;
    EXPECT_EQ(plan.savers, MemorySavers{}) << memory;
    EXPECT_EQ(plan.data.memory_cap_bytes, data * kMegabyte) << memory;
    EXPECT_EQ(plan.model.memory_cap_bytes, model * kMegabyte) << memory;
    EXPECT_EQ(plan.ring_slots, slots) << memory;
  };
  expect("12 GB", 8, 4096, 8192, 6);
  expect("16 GB", 12, 6144, 10'240, 4);
  expect("24 GB", 24, 8192, 16'384, 3);
}

TEST(Recommend, WhereTheTablesBatchDoesNotFitTheStepKeepsItsSizeOrMemoryIsSaved) {
  const Recommendation found = row("xtts-v2", "12 GB", 2);
  EXPECT_TRUE(found.fits);
  EXPECT_GE(found.plan.batch_size * found.plan.grad_accum, 8);
  EXPECT_LE(found.plan.model.estimated_bytes, *found.plan.model.memory_cap_bytes);
  EXPECT_TRUE(found.plan.batch_size < 8 || found.plan.savers != MemorySavers{});
}

// Savers cost time, so a card that needs none may well have the smaller batch.
TEST(Recommend, ALargerCardHasFewerSaversOrAtLeastTheBatch) {
  for (const std::string_view size : model_preset_names()) {
    std::optional<DevicePlan> before;
    for (const CardSize& bigger : usual_cards()) {
      const Recommendation found = row(std::string(size), bigger.name, 1);
      if (!found.fits) continue;
      if (before && before->savers == found.plan.savers) {
        EXPECT_GE(found.plan.batch_size, before->batch_size) << size << " on " << bigger.name;
      }
      before = found.plan;
    }
    EXPECT_EQ(before->savers, MemorySavers{}) << size;
    EXPECT_EQ(before->batch_size, 32) << size;
  }
}

TEST(Recommend, ABatchThatIsGivenStandsAndIsMadeToFit) {
  const Recommendation small = row("xtts-v2", "12 GB", 1, 16);
  EXPECT_TRUE(small.fits);
  EXPECT_EQ(small.plan.batch_size, 16);
  EXPECT_NE(small.plan.savers, MemorySavers{});
  const Recommendation large = row("xtts-v2", "80 GB", 1, 16);
  EXPECT_EQ(large.plan.savers, MemorySavers{});
  const Recommendation none = row("xtts-v2", "8 GB", 1, 512);
  EXPECT_FALSE(none.fits);
  EXPECT_TRUE(none.command.empty());
}

// Sums of several batches are in fp32: 1.8 GB for xtts-v2 that a plan must count.
TEST(Recommend, WhatAccumulationTakesIsInTheEstimate) {
  RunConfig config;
  config.train.model_size = "xtts-v2";
  config.train.batch_size = 4;
  const Machine machine = machine_with(card("80 GB"), 1);
  const std::int64_t one =
      plan_with_savers(config, machine, model_preset("xtts-v2")).model.estimated_bytes;
  config.train.grad_accum = 2;
  const std::int64_t two =
      plan_with_savers(config, machine, model_preset("xtts-v2")).model.estimated_bytes;
  EXPECT_NEAR(static_cast<double>(two - one), 441'018'563 * 4.0, 20e6);
}

TEST(Recommend, TheTextHasARowAndACommandForEachCardAndTheJsonTheSame) {
  const std::vector<RecommendationTable> tables = {recommend("tiny", {}, {})};
  const std::string text = recommendation_text(tables);
  for (const CardSize& size : usual_cards()) {
    EXPECT_NE(text.find("  " + size.name), std::string::npos) << text;
  }
  for (const Recommendation& found : tables[0].rows) {
    EXPECT_NE(text.find(found.command), std::string::npos) << found.command;
    EXPECT_NE(recommendation_json(tables).find(found.command), std::string::npos);
  }
}

}  // namespace
}  // namespace myxtts::recommend_test
