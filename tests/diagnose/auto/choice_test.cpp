// SPDX-License-Identifier: Apache-2.0
#include "diagnose/auto/choice_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/fake_gpus.h"
#include "support/temporary_folder.h"

namespace myxtts::test::choice_test {
namespace {

const Placement kSplit{.mode = Mode::Split, .split_gpu = SplitGpu{0, 16}, .cached = true};

AutoConditions conditions(const RunConfig& config = {},
                          const Machine& machine = FakeGpus().h200().machine,
                          const std::string& corpus = "abc") {
  return auto_conditions(config, machine, corpus);
}

TEST(AutoChoice, IsReadBackAsItWasWritten) {
  const TemporaryFolder folder;
  for (const Placement& placement :
       {kSplit, Placement{.mode = Mode::Split, .split_gpu = SplitGpu{1, std::nullopt}},
        Placement{.mode = Mode::Dual, .data_gpu = 1, .model_gpu = 0},
        Placement{.mode = Mode::Cpu, .data_threads = 1, .model_threads = 2},
        Placement{.mode = Mode::Cpu, .ranks = 4, .rank_batch_size = 3, .cached = true}}) {
    write_choice({.conditions = conditions(), .table = {}, .placement = placement}, folder.path());
    const auto read = read_choice(folder.path());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->placement, placement);
    EXPECT_EQ(what_changed(read->conditions, conditions()), "");
  }
}

TEST(AutoChoice, AFileWithoutRanksIsReadToo) {
  const TemporaryFolder folder;
  write_choice({.conditions = conditions(), .table = {}, .placement = kSplit}, folder.path());
  auto json = nlohmann::json::parse(std::ifstream(folder / "auto.json"));
  json.at("choice").erase("ranks");
  std::ofstream(folder / "auto.json") << json;
  const auto read = read_choice(folder.path());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->placement, kSplit);
}

TEST(AutoChoice, WhatChangesTheSpeedChangesTheConditionsAndIsNamed) {
  RunConfig config;
  config.train.batch_size = 16;
  EXPECT_EQ(what_changed(conditions(), conditions(config)),
            "settings: train.batch_size was auto and is 16");
  EXPECT_EQ(what_changed(conditions(), conditions({}, FakeGpus().h200().machine, "xyz")),
            "corpus: fingerprint was abc and is xyz");
  EXPECT_EQ(what_changed(conditions(), conditions({}, FakeGpus().h200().l4().machine)),
            "machine: gpu 1 is new");
  EXPECT_EQ(what_changed(conditions({}, FakeGpus().h200().l4().machine), conditions()),
            "machine: gpu 1 is gone");
  EXPECT_NE(what_changed(conditions(), conditions({}, FakeGpus().l4().machine)).find("NVIDIA L4"),
            std::string::npos);
  EXPECT_EQ(what_changed({}, conditions()), "corpus was not known then");
}

TEST(AutoChoice, WhatDoesNotChangeTheSpeedIsNoCondition) {
  RunConfig config;
  config.train.lr = 1e-4;
  config.train.max_steps = 77;
  config.run.save_steps = 5;
  config.run.resume = "latest";
  EXPECT_EQ(what_changed(conditions(), conditions(config)), "");
}

TEST(AutoChoice, AFileThatIsDamagedOrMissingIsNoChoice) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_choice(folder.path()));
  for (const char* text :
       {"", "{", "[]", "{\"choice\": {\"mode\": \"warp\"}}", "{\"choice\": 3}"}) {
    std::ofstream(folder / "auto.json") << text;
    EXPECT_FALSE(read_choice(folder.path())) << text;
  }
}

TEST(AutoChoice, TheFileHasTableReasonsAndFlags) {
  const TemporaryFolder folder;
  const MeasuredPlacement measured{.placement = kSplit,
                                   .reading = PlacementReading{.clips_per_second = 200},
                                   .cold_clips_per_second = 100,
                                   .clips_per_second = 150};
  const MeasuredPlacement failed{.placement = {.mode = Mode::Single}, .reason = "no memory"};
  write_choice({.conditions = conditions(), .table = {measured, failed}, .placement = kSplit},
               folder.path());
  const auto json = nlohmann::json::parse(std::ifstream(folder / "auto.json"));
  EXPECT_EQ(json.at("choice").at("flags"), "--split-gpu 0:16 --cache-dataset");
  EXPECT_EQ(json.at("table").at(0).at("clips_per_second"), 150);
  EXPECT_EQ(json.at("table").at(0).at("warm_clips_per_second"), 200);
  EXPECT_EQ(json.at("table").at(1).at("reason"), "no memory");
  EXPECT_EQ(json.at("corpus").at("fingerprint"), "abc");
  EXPECT_EQ(json.at("machine").at("cores"), "16");
  EXPECT_EQ(json.at("settings").at("train.precision"), "auto");
}

}  // namespace
}  // namespace myxtts::test::choice_test
