// SPDX-License-Identifier: Apache-2.0
#include "session/part_chain.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "config/part_settings.h"
#include "run/checkpoint_store.h"
#include "support/temporary_folder.h"

namespace myxtts::stage_chain_test {
namespace {

namespace fs = std::filesystem;

class Chain : public testing::Test {
 protected:
  // Settings of three stages in the folder.
  EffectiveConfig settings(const std::string& budgets = "dvae=10,gpt=8m") const {
    EffectiveConfig config{.values = {}, .origins = {}};
    config.values.train.stages = {ModelPart::Dvae, ModelPart::Gpt, ModelPart::Decoder};
    config.values.train.stage_budget = parse_part_budgets(budgets);
    config.values.run.checkpoint_dir = folder_.path();
    config.values.run.resume = "latest";
    return config;
  }

  void begin(const std::string& stage) const {
    fs::create_directories(folder_ / stage / "checkpoints" / "step-0000001");
    fs::create_directory_symlink("checkpoints/step-0000001", folder_ / stage / "latest");
  }

  test::TemporaryFolder folder_;
};

TEST_F(Chain, StagesComeInTheirOrderAndEachStartsFromTheOneBefore) {
  EffectiveConfig config = settings();
  config.values.train.vocab = "v.json";
  const PartChain chain(config, folder_.path());
  EXPECT_EQ(chain.next(), 0u);
  EXPECT_FALSE(chain.settings_of(0).values.train.init);
  EXPECT_EQ(chain.settings_of(0).values.train.vocab, "v.json");
  const RunConfig gpt = chain.settings_of(1).values;
  EXPECT_EQ(gpt.train.stage, ModelPart::Gpt);
  EXPECT_EQ(gpt.train.init, folder_ / "dvae" / "latest");
  EXPECT_FALSE(gpt.train.vocab);
  EXPECT_EQ(gpt.run.checkpoint_dir, folder_ / "gpt");
  EXPECT_EQ(gpt.data.cache_dir, folder_.path()) << "all stages share an index";
  EXPECT_EQ(chain.title(1), "Training gpt (2 of 3)");
  EXPECT_NE(chain.opening(1).find("part 2 of 3: gpt, 8 minutes, from "), std::string::npos);
}

TEST_F(Chain, AStageThatHandsOnItsBestModelGivesTheCheckpointThatWasValidatedBest) {
  EffectiveConfig config = settings();
  config.values.train.hand_on = HandOn::Best;
  begin("dvae");
  const PartChain chain(config, folder_.path());
  EXPECT_EQ(chain.settings_of(2).values.train.init, folder_ / "gpt" / "latest")
      << "as long as nothing was measured";
  CheckpointStore store(folder_ / "gpt");
  for (const auto& [step, loss] : {std::pair{100, 4.5}, std::pair{200, 3.5}, std::pair{300, 4.0}}) {
    store.write(step, loss).commit();
  }
  const fs::path best = folder_ / "gpt" / "checkpoints" / "step-0000200";
  EXPECT_EQ(chain.settings_of(2).values.train.init, best);
  EXPECT_NE(chain.opening(2).find("from " + best.string()), std::string::npos);
  config.values.train.hand_on = HandOn::Latest;
  EXPECT_EQ(PartChain(config, folder_.path()).settings_of(2).values.train.init,
            folder_ / "gpt" / "latest");
}

TEST_F(Chain, AFinishedStageIsNotRepeatedByAnotherProcess) {
  const EffectiveConfig config = settings();
  {
    PartChain chain(config, folder_.path());
    chain.finish(0, 10, 2.5, 0.25);
    EXPECT_EQ(chain.next(), 1u);
  }
  PartChain again(config, folder_.path());
  EXPECT_EQ(again.next(), 1u);
  again.finish(1, 20, 60, {});
  again.finish(2, 30, 60, {});
  EXPECT_EQ(again.next(), std::nullopt);
  EXPECT_NE(again.summary().find("dvae      10 steps in "), std::string::npos) << again.summary();
  EXPECT_NE(again.summary().find("validated 0.2500 at best"), std::string::npos);
}

TEST_F(Chain, ARaisedBudgetLetsAStageGoOnUntilALaterOneHasBegun) {
  {
    const EffectiveConfig config = settings();
    PartChain(config, folder_.path()).finish(0, 10, 2.5, {});
  }
  const EffectiveConfig more = settings("dvae=20,gpt=8m");
  EXPECT_EQ(PartChain(more, folder_.path()).next(), 0u);
  begin("gpt");
  EXPECT_EQ(PartChain(more, folder_.path()).next(), 1u);
}

TEST_F(Chain, ARaisedNumberOfStepsCountsLikeABudget) {
  EffectiveConfig config = settings("dvae=100");
  config.values.train.max_steps = 5;
  PartChain(config, folder_.path()).finish(0, 5, 2.5, {});
  EXPECT_EQ(PartChain(config, folder_.path()).next(), 1u);
  config.values.train.max_steps = 7;
  EXPECT_EQ(PartChain(config, folder_.path()).next(), 0u);
  begin("gpt");
  testing::internal::CaptureStderr();
  EXPECT_EQ(PartChain(config, folder_.path()).next(), 1u);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("The part dvae stays as it is, with 5 steps"), std::string::npos) << said;
  // A record that names no steps is one of an older program.
  std::ofstream(folder_ / "chain.json")
      << R"({"version": 1, "finished": [{"stage": "dvae", "budget": "100", "steps": 5,)"
      << R"( "seconds": 2.5, "validation_loss": null}]})";
  EXPECT_EQ(PartChain(config, folder_.path()).next(), 1u);
}

TEST_F(Chain, TheFolderIsThatOfAChainFromTheFirstStepOn) {
  const EffectiveConfig config = settings();
  const PartChain chain(config, folder_.path());
  chain.begin();
  EXPECT_TRUE(fs::exists(folder_ / "chain.json"));
  EXPECT_FALSE(fs::exists(folder_ / "latest")) << "there is no model yet";
  begin("dvae");
  EXPECT_TRUE(fs::exists(folder_ / "latest")) << "there is one as soon as the stage saves it";
  EXPECT_EQ(PartChain(config, folder_.path()).next(), 0u);
}

TEST_F(Chain, BestIsThatOfTheStageThatWasTrainedLastOrNone) {
  const EffectiveConfig config = settings();
  const PartChain chain(config, folder_.path());
  CheckpointStore(folder_ / "dvae").write(1, 0.5).commit();
  chain.show_models(0);
  EXPECT_EQ(fs::read_symlink(folder_ / "best"), "dvae/best");
  begin("gpt");
  chain.show_models(1);
  EXPECT_FALSE(fs::exists(fs::symlink_status(folder_ / "best"))) << "it was not measured";
}

TEST_F(Chain, WithoutResumeAFolderThatWasUsedIsRefused) {
  EffectiveConfig config = settings();
  config.values.run.resume.reset();
  EXPECT_NO_THROW(PartChain(config, folder_.path()));
  fs::create_directories(folder_ / "dvae" / "checkpoints");
  EXPECT_NO_THROW(PartChain(config, folder_.path())) << "it failed before its first step";
  begin("dvae");
  EXPECT_THROW(PartChain(config, folder_.path()), DataError);
}

TEST_F(Chain, AStageBeforeWhatWasTrainedWithoutItIsRefused) {
  begin("gpt");
  EXPECT_THROW(PartChain(settings(), folder_.path()), ConfigError);
  begin("dvae");
  EXPECT_NO_THROW(PartChain(settings(), folder_.path()));
}

TEST_F(Chain, LatestIsTheNewestModelOfTheStageThatWasTrainedLast) {
  const EffectiveConfig config = settings();
  const PartChain chain(config, folder_.path());
  chain.show_models(0);
  EXPECT_FALSE(fs::exists(folder_ / "latest")) << "it has none yet";
  begin("dvae");
  chain.show_models(0);
  EXPECT_EQ(fs::read_symlink(folder_ / "latest"), "dvae/latest");
  begin("gpt");
  chain.show_models(1);
  EXPECT_EQ(fs::canonical(folder_ / "latest"),
            fs::canonical(folder_ / "gpt" / "checkpoints" / "step-0000001"));
}

TEST_F(Chain, ADamagedRecordIsSaidWithWhatToDo) {
  for (const char* text : {"{", "{}", R"({"finished": [{"stage": "voice"}]})", "[1]"}) {
    std::ofstream(folder_ / "chain.json") << text;
    const EffectiveConfig config = settings();
    EXPECT_THROW(PartChain(config, folder_.path()), DataError) << text;
  }
}

}  // namespace
}  // namespace myxtts::stage_chain_test
