// SPDX-License-Identifier: Apache-2.0
#include "config/resumed_run.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts::resumed_run_test {
namespace {

namespace fs = std::filesystem;

Setting flag(const std::string& key, const std::string& value) {
  const Field* field = find_field(key);
  return {field, {value, false}, {Origin::Kind::Flag, field->flag, 0}};
}

class ResumedRun : public testing::Test {
 protected:
  // A run that has a checkpoint of step 5 and was begun with these settings.
  fs::path made(const std::string& name, const std::string& settings) const {
    const fs::path run = folder_ / name;
    fs::create_directories(run / "checkpoints" / "step-0000005");
    fs::create_directory_symlink("checkpoints/step-0000005", run / "latest");
    std::ofstream(run / "config.yaml") << settings;
    return run;
  }

  static RunConfig values(std::vector<Setting> flags) {
    return make_effective_config({.flags = std::move(flags)}).values;
  }
  static std::string refusal(std::vector<Setting> flags) {
    try {
      values(std::move(flags));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return {};
  }

  test::TemporaryFolder folder_;
};

TEST_F(ResumedRun, GoesOnInTheFolderThatResumeNames) {
  const fs::path run = made("a", "data: {train_data: corpus}\n");
  for (const fs::path& point : {run, run / "", run / "latest"}) {
    const RunDirectoryConfig found = values({flag("run.resume", point)}).run;
    EXPECT_TRUE(fs::equivalent(found.checkpoint_dir, run)) << found.checkpoint_dir;
    EXPECT_EQ(found.resume, "latest") << point;
  }
  const fs::path step = run / "checkpoints" / "step-0000005";
  EXPECT_EQ(values({flag("run.resume", step)}).run.checkpoint_dir, run);
  EXPECT_EQ(values({flag("run.resume", step)}).run.resume, step);

  const fs::path other = made("b", "");
  const Setting into_other = flag("run.checkpoint_dir", other);
  EXPECT_NE(refusal({flag("run.resume", step), into_other}).find("holds another one"),
            std::string::npos);
  const fs::path fresh = folder_ / "new";  // begins with a checkpoint of another run
  EXPECT_EQ(values({flag("run.resume", step), flag("run.checkpoint_dir", fresh)}).run.resume, step);
}

TEST_F(ResumedRun, HasItsOwnSettingsButForWhatIsTyped) {
  const fs::path run = made("a", "data: {train_data: corpus}\ntrain: {batch_size: 3, seed: 7}\n");
  const RunConfig own = values({flag("run.resume", run), flag("train.seed", "8")});
  EXPECT_EQ(own.data.train_data.at(0).path, "corpus");
  EXPECT_EQ(own.train.batch_size, 3);
  EXPECT_EQ(own.train.seed, 8) << "flags win";
  const std::vector<Setting> flags{flag("run.resume", run), flag("data.train_data", "other")};
  const RunConfig typed = values(flags);
  EXPECT_EQ(typed.data.train_data.size(), 1U);
  EXPECT_EQ(typed.data.train_data.at(0).path, "other");
  EXPECT_EQ(typed.train.batch_size, 3);
  EXPECT_EQ(changes_of_resumed(make_effective_config({.flags = flags}), settings_of_resumed(typed)),
            fmt::format("data.train_data is {}, was {}", fs::absolute("other").string(),
                        fs::absolute("corpus").string()));
  // A new run that begins with the checkpoint of another is what was typed.
  const fs::path step = run / "checkpoints" / "step-0000005";
  const RunConfig fresh =
      values({flag("run.resume", step), flag("run.checkpoint_dir", folder_ / "new"),
              flag("data.train_data", "other")});
  EXPECT_FALSE(fresh.train.batch_size);
}

TEST_F(ResumedRun, AFileThatIsDamagedOrNothingThatIsThereIsRefused) {
  EXPECT_NE(refusal({flag("run.resume", made("empty", ""))}).find("config.yaml is empty."),
            std::string::npos);
  EXPECT_NE(refusal({flag("run.resume", made("torn", "train: {seed: [\n"))}).find("restore"),
            std::string::npos);
  const auto required = [this](const fs::path& point, const char* folder) {
    std::vector<Setting> flags{flag("run.resume", point)};
    if (folder != nullptr) flags.push_back(flag("run.checkpoint_dir", folder_ / folder));
    require_resumed(make_effective_config({.flags = std::move(flags)}));
  };
  EXPECT_THROW(required(folder_ / "nowhere", nullptr), DataError);
  EXPECT_THROW(required(folder_.path(), "new"), ConfigError) << "neither a run nor a checkpoint";
  const fs::path run = made("a", "train: {seed: 7}\n");
  for (const char* point : {"latest", "17"}) {
    required(point, "new");
    required(point, "a");
    EXPECT_THROW(required(point, nullptr), ConfigError) << "nobody said where";
  }
  fs::create_directory(folder_ / "copied");
  std::ofstream(folder_ / "copied" / "config.json") << "{}";
  required(folder_ / "copied", "new");
  EXPECT_EQ(values({flag("run.resume", run / "config.yaml")}).run.checkpoint_dir, run);
  EXPECT_EQ(values({flag("run.resume", run / "config.yaml")}).run.resume, "latest");
  required(run, nullptr);
}

TEST_F(ResumedRun, IsNamedWhereAFolderAroundItOrInItIsGiven) {
  const auto near = [this](const fs::path& folder) {
    return flag_of_run_near("--model", folder_ / folder);
  };
  fs::create_directory(folder_ / "empty");
  EXPECT_EQ(near("empty"), "");
  EXPECT_EQ(near("nowhere"), "");
  const fs::path run = made("runs/a", "");
  EXPECT_EQ(near("runs"), "give --model " + run.string());
  EXPECT_EQ(near(""), "give --model " + run.string()) << "two levels above";
  EXPECT_EQ(near("runs/a/checkpoints"), "give --model " + run.string());
  const fs::path other = made("runs/b c", "");
  EXPECT_EQ(near("runs"),
            "give --model " + run.string() + " or another run there, such as " + other.string());
}

TEST_F(ResumedRun, WhatIsMadeOfItsModelLiesBesideIt) {
  const fs::path run = made("runs/a", "");
  const fs::path beside = folder_ / "runs/a-ro";
  EXPECT_EQ(name_beside(run, "-ro"), beside);
  EXPECT_EQ(name_beside(run / "latest", "-ro"), beside);
  EXPECT_EQ(name_beside(run / "checkpoints/step-0000005", "-ro"), beside);
  made("runs/a/gpt", "");
  EXPECT_EQ(name_beside(run / "gpt" / "latest", "-ro"), beside) << "a stage of a chain";
  EXPECT_EQ(name_beside(folder_ / "model/", "-ro"), folder_ / "model-ro");
  EXPECT_EQ(name_beside(".", "-ro"), "model-ro");
}

TEST_F(ResumedRun, IsTheOneThatItsFileLiesIn) {
  const fs::path run = made("moved", "run: {checkpoint_dir: /where/it/was}\n");
  const auto at = [&run](std::vector<Setting> flags) {
    return make_effective_config({.file = run / "config.yaml", .flags = std::move(flags)})
        .values.run.checkpoint_dir;
  };
  EXPECT_EQ(at({flag("run.resume", "latest")}), run);
  EXPECT_EQ(at({flag("run.resume", "latest"), flag("run.checkpoint_dir", "new")}), "new");
  EXPECT_EQ(at({}), "/where/it/was");
}

TEST_F(ResumedRun, KeepsWhatDecidesTheShapeOfItsNetwork) {
  const fs::path run = made("a", "train: {model_size: tiny, vocab_pieces: 40, init: models/x}\n");
  const std::vector<Setting> resumed{flag("run.resume", run), flag("data.train_data", "corpus")};
  const TrainConfig kept = values(resumed).train;
  EXPECT_EQ(kept.model_size, "tiny");
  EXPECT_EQ(kept.vocab_pieces, 40);
  EXPECT_EQ(kept.init, "models/x");
  auto other = resumed;
  other.push_back(flag("train.vocab_pieces", "41"));
  EXPECT_NE(refusal(other).find("was learnt with 40"), std::string::npos) << refusal(other);
}

TEST_F(ResumedRun, KeepsTheBudgetsThatAreNotNamed) {
  const fs::path run =
      made("a", "train: {stages: \"dvae,gpt\", stage_budget: \"dvae=10,gpt=20\"}\n");
  const auto budgets = [&run](const char* named) {
    std::vector<Setting> flags{flag("run.resume", run), flag("data.train_data", "corpus"),
                               flag("train.stages", "dvae,gpt")};
    if (*named != '\0') flags.push_back(flag("train.stage_budget", named));
    const RunConfig found = values(flags);
    return find_field("train.stage_budget")->value_of(found).text;
  };
  EXPECT_EQ(budgets("gpt=5"), "gpt=5,dvae=10");
  EXPECT_EQ(budgets(""), "gpt=20,dvae=10");
  EXPECT_EQ(budgets("none"), "none");
}

}  // namespace
}  // namespace myxtts::resumed_run_test
