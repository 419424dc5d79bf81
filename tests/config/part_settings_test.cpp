// SPDX-License-Identifier: Apache-2.0
#include "config/part_settings.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary_file.h"

namespace myxtts::stage_settings_test {
namespace {

Setting flag(const std::string& key, const std::string& value) {
  const Field* field = find_field(key);
  return {field, {value, false}, {Origin::Kind::Flag, field->flag, 0}};
}

const std::string kRecipe =
    "train: {stages: 'dvae,gpt,decoder', stage_budget: 'dvae=3000,gpt=8m', lr: 0.01}\n"
    "stages:\n"
    "  dvae: {lr: 0.0003, batch_size: 64}\n"
    "  gpt:\n"
    "    schedule: cosine\n"
    "    eval_steps: 7\n";

EffectiveConfig recipe(std::vector<Setting> flags = {}, const std::string& text = kRecipe) {
  const test::TemporaryFile file(text);
  return make_effective_config({.file = file.path(), .flags = std::move(flags)});
}

std::string refusal(const std::string& text) {
  try {
    recipe({}, text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(StageSettings, EachStageHasItsOwnOverWhatAllShare) {
  const EffectiveConfig config = recipe();
  const RunConfig dvae = settings_of_part(config, ModelPart::Dvae).values;
  EXPECT_EQ(dvae.train.stage, ModelPart::Dvae);
  EXPECT_FALSE(dvae.train.stages);
  EXPECT_EQ(dvae.train.lr, 0.0003);
  EXPECT_EQ(dvae.train.batch_size, 64);
  const RunConfig gpt = settings_of_part(config, ModelPart::Gpt).values;
  EXPECT_EQ(gpt.train.lr, 0.01);
  EXPECT_EQ(gpt.train.schedule, ScheduleKind::Cosine);
  EXPECT_EQ(gpt.run.eval_steps, 7);
  EXPECT_FALSE(gpt.train.batch_size);
  EXPECT_EQ(settings_of_part(config, ModelPart::Decoder).values.train.lr, 0.01);
}

TEST(StageSettings, ABudgetEndsItsStageAndNoEpochCountThatNobodyChoseDoes) {
  const EffectiveConfig config = recipe();
  const TrainConfig dvae = settings_of_part(config, ModelPart::Dvae).values.train;
  EXPECT_EQ(dvae.max_steps, 3000);
  EXPECT_GT(dvae.epochs, 100'000);
  const TrainConfig gpt = settings_of_part(config, ModelPart::Gpt).values.train;
  EXPECT_FALSE(gpt.max_steps);
  EXPECT_EQ(gpt.stage_budget->at(ModelPart::Gpt).minutes, 8.0);
  EXPECT_EQ(settings_of_part(config, ModelPart::Decoder).values.train.epochs, 100);
  const auto few = recipe({flag("train.epochs", "3"), flag("train.max_steps", "5")});
  EXPECT_EQ(settings_of_part(few, ModelPart::Dvae).values.train.epochs, 3);
  EXPECT_EQ(settings_of_part(few, ModelPart::Dvae).values.train.max_steps, 5);
}

TEST(StageSettings, StepsForHoursOfSpeechGrowWithTheRootOfTheHours) {
  const auto budgets = parse_part_budgets("dvae=5000@1h,gpt=6000@2.5h,decoder=8m");
  ASSERT_TRUE(budgets);
  EXPECT_EQ(format_part_budgets(*budgets), "gpt=6000@2.5h,dvae=5000@1h,decoder=8m");
  for (const char* wrong : {"gpt=6000@", "gpt=6000@1", "gpt=@1h", "gpt=6000@0h", "gpt=6000@xh"}) {
    EXPECT_FALSE(parse_part_budgets(wrong)) << wrong;
  }
  TrainConfig train{.stage = ModelPart::Dvae, .stage_budget = budgets};
  EXPECT_EQ(most_steps(train, 1), 5000);
  EXPECT_EQ(most_steps(train, 4), 10'000);
  EXPECT_EQ(most_steps(train, 0.01), 500);
  train.max_steps = 700;
  EXPECT_EQ(most_steps(train, 4), 700);
  train.stage = ModelPart::Decoder;
  EXPECT_EQ(most_steps(train, 4), 700);
}

TEST(StageSettings, AFlagWinsForEveryStage) {
  const EffectiveConfig config = recipe({flag("train.lr", "0.5")});
  EXPECT_EQ(settings_of_part(config, ModelPart::Dvae).values.train.lr, 0.5);
  EXPECT_EQ(settings_of_part(config, ModelPart::Dvae).values.train.batch_size, 64);
}

TEST(StageSettings, AStageThatIsTrainedAloneHasThemToo) {
  const auto config = recipe({flag("train.stages", "none"), flag("train.stage", "dvae")});
  EXPECT_EQ(config.values.train.lr, 0.0003);
  EXPECT_EQ(config.values.train.max_steps, 3000);
}

TEST(StageSettings, WhatIsPrintedReadsBackAsTheSame) {
  for (const auto& flags : {std::vector<Setting>{}, {flag("train.lr", "0.5")}}) {
    const EffectiveConfig config = recipe(flags);
    const EffectiveConfig again = recipe({}, print_config(config));
    EXPECT_EQ(again.values, config.values);
    for (const ModelPart stage : kModelParts) {
      EXPECT_EQ(settings_of_part(again, stage).values, settings_of_part(config, stage).values);
    }
  }
}

TEST(StageSettings, WhatIsNoStageOrNoSettingOfOneIsRefusedWithTheNearest) {
  EXPECT_NE(refusal("stages: {dvea: {lr: 1}}\n").find("stages.dvae"), std::string::npos);
  EXPECT_NE(refusal("stages: {dvae: {lrr: 1}}\n").find("stages.dvae.lr?"), std::string::npos);
  EXPECT_NE(refusal("stages: {dvae: {seed2: 1}}\n").find("There is no setting"), std::string::npos);
  EXPECT_NE(refusal("stages: {dvae: {init: m}}\n").find("train.init"), std::string::npos);
  EXPECT_NE(refusal("stages: {dvae: 3}\n").find("takes settings by name"), std::string::npos);
  EXPECT_NE(refusal("stages: {dvae: {lr: fast}}\n").find("of the part dvae"), std::string::npos);
}

TEST(StageSettings, SettingsOfALaterStageThatContradictEachOtherAreRefusedAtTheStart) {
  const std::string both =
      "train: {stages: 'gpt,decoder'}\nstages: {decoder: {batch_size: 2, batch_tokens: 2048}}\n";
  EXPECT_NE(refusal(both).find("train.batch_tokens"), std::string::npos);
  EXPECT_EQ(refusal("train: {stages: 'gpt,decoder'}\n"), "");
}

TEST(StageSettings, AChainTakesNoSingleStageNoMeasuredModeAndNoStepToResume) {
  EXPECT_THROW(recipe({flag("train.stage", "gpt")}), ConfigError);
  EXPECT_THROW(recipe({flag("devices.mode", "auto")}), ConfigError);
  EXPECT_THROW(recipe({flag("run.resume", "12")}), ConfigError);
  EXPECT_NO_THROW(recipe({flag("run.resume", "latest")}));
}

TEST(StageSettings, WhatAStageOfAChainCannotHaveIsLeftOutOfIt) {
  const auto config =
      recipe({flag("data.cache_dataset", "true"), flag("train.windows_per_clip", "2"),
              flag("train.freeze", "gpt.conditioning_*")});
  const RunConfig dvae = settings_of_part(config, ModelPart::Dvae).values;
  EXPECT_FALSE(dvae.data.cache_dataset);
  EXPECT_EQ(dvae.train.windows_per_clip, 2);
  EXPECT_FALSE(dvae.train.freeze);
  const RunConfig gpt = settings_of_part(config, ModelPart::Gpt).values;
  EXPECT_TRUE(gpt.data.cache_dataset);
  EXPECT_FALSE(gpt.train.windows_per_clip);
  EXPECT_TRUE(gpt.train.freeze);
}

TEST(StageSettings, ListsAndBudgetsAreReadStrictly) {
  EXPECT_EQ(parse_parts("dvae,gpt"), (std::vector{ModelPart::Dvae, ModelPart::Gpt}));
  for (const char* wrong : {"", "dvae,", "dvae,dvae", "dvae gpt", "voice"}) {
    EXPECT_FALSE(parse_parts(wrong)) << wrong;
  }
  EXPECT_EQ(fault_of_parts("dvae,gtp"), "; there is no stage 'gtp', did you mean gpt?");
  EXPECT_EQ(fault_of_parts("dvae=1,giraffe=2"), "; there is no stage 'giraffe'.");
  EXPECT_EQ(fault_of_parts("dvae=x,gpt"), "");
  EXPECT_EQ(fault_of_parts("gpt,dvae,gpt"), "; gpt stands there twice.");
  const auto budgets = parse_part_budgets("dvae=3000,gpt=0.5m");
  ASSERT_TRUE(budgets);
  EXPECT_EQ(budgets->at(ModelPart::Dvae).steps, 3000);
  EXPECT_EQ(budgets->at(ModelPart::Gpt).minutes, 0.5);
  EXPECT_EQ(parse_part_budgets(format_part_budgets(*budgets)), budgets);
  for (const char* wrong : {"dvae", "dvae=", "dvae=0", "dvae=-1m", "dvae=m", "dvae=1h", "x=1",
                            "dvae=1,dvae=2", "dvae=1.5"}) {
    EXPECT_FALSE(parse_part_budgets(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace myxtts::stage_settings_test
