// SPDX-License-Identifier: Apache-2.0
#include "run/run_directory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/error.h"
#include "run/model_folder.h"
#include "support/temporary_folder.h"

namespace myxtts::resume_test {
namespace {

namespace fs = std::filesystem;
using test::contents_of;
using test::TemporaryFolder;

void save(CheckpointStore& store, std::int64_t step) {
  auto writer = store.write(step);
  std::ofstream(writer / "model") << "weights of " << step;
  write_training_state(writer / files::kState, {.step = step, .stage = "gpt"});
  writer.commit();
}

void damage(const fs::path& folder) {
  std::ofstream(folder / "model") << "weights of 0";
}

class Resume : public ::testing::Test {
 protected:
  std::optional<Checkpoint> find(const std::optional<std::string>& resume) {
    testing::internal::CaptureStderr();
    try {
      auto found = find_starting_point(directory_, store_, resume, ModelPart::Gpt);
      said_ = testing::internal::GetCapturedStderr();
      return found;
    } catch (const DataError& error) {
      said_ = testing::internal::GetCapturedStderr();
      refused_ = error.what();
      return {};
    }
  }
  fs::path checkpoint(std::int64_t step) const {
    return directory_ / "checkpoints" / fmt::format("step-{:07}", step);
  }

  TemporaryFolder folder_;
  RunDirectory directory_{folder_ / "run"};
  CheckpointStore store_{folder_ / "run"};
  std::string said_;
  std::string refused_;
};

TEST_F(Resume, ARunOfAnotherStageIsRefusedWithWhatToType) {
  save(store_, 3);
  try {
    (void)find_starting_point(directory_, store_, "latest", ModelPart::Dvae);
    FAIL() << "it was taken";
  } catch (const ConfigError& error) {
    const std::string said = error.what();
    EXPECT_NE(
        said.find("myxtts train --config " + (directory_ / "config.yaml").string() + " --resume"),
        std::string::npos)
        << said;
    EXPECT_NE(said.find("--stage dvae --init " + checkpoint(3).string()), std::string::npos)
        << said;
  }
}

TEST_F(Resume, WithoutTheFlagANewRunDoesNotMixWithAnOldOne) {
  EXPECT_FALSE(find(std::nullopt).has_value());
  EXPECT_EQ(refused_, "");
  save(store_, 1);
  EXPECT_FALSE(find(std::nullopt).has_value());
  EXPECT_NE(refused_.find("--resume"), std::string::npos) << refused_;
}

TEST_F(Resume, LatestOfAFolderWithoutCheckpointsBeginsFromTheStart) {
  EXPECT_FALSE(find("latest").has_value());
  EXPECT_EQ(refused_, "");
  EXPECT_NE(said_.find("begins from the start"), std::string::npos) << said_;
}

TEST_F(Resume, ADamagedNewestOneIsSaidAndPassedOverAndNoLongerLatest) {
  save(store_, 1);
  save(store_, 2);
  damage(checkpoint(2));
  EXPECT_EQ(find("latest")->step, 1);
  EXPECT_NE(said_.find("step-0000002 is damaged and passed over: model"), std::string::npos)
      << said_;
  EXPECT_EQ(contents_of(directory_ / "latest" / "model"), "weights of 1");
}

TEST_F(Resume, WhereAllAreDamagedTheRunIsNotSilentlyBegunAgain) {
  save(store_, 1);
  damage(checkpoint(1));
  EXPECT_FALSE(find("latest").has_value());
  EXPECT_NE(refused_.find("Every checkpoint"), std::string::npos) << refused_;
}

TEST_F(Resume, AStepOrAPathMustBeThereAndWhole) {
  save(store_, 1);
  save(store_, 2);
  EXPECT_EQ(find("1")->step, 1);
  EXPECT_EQ(find(checkpoint(1).string())->step, 1);
  EXPECT_EQ(find((directory_ / "latest").string())->step, 2);
  EXPECT_FALSE(find("7").has_value());
  EXPECT_NE(refused_.find("There is no checkpoint"), std::string::npos) << refused_;
  damage(checkpoint(1));
  EXPECT_FALSE(find("1").has_value());
  EXPECT_NE(refused_.find("is damaged"), std::string::npos) << refused_;
}

TEST_F(Resume, GoingBackToAnEarlierStepGivesUpTheLaterOnesWithTheNextSave) {
  for (const std::int64_t step : {10, 20, 30}) save(store_, step);
  EXPECT_EQ(find("10")->step, 10);
  EXPECT_NE(said_.find("later steps (20, 30)"), std::string::npos) << said_;
  EXPECT_EQ(store_.all().size(), 3u) << "removed too early";
  save(store_, 15);
  EXPECT_EQ(store_.all().size(), 2u);
  EXPECT_EQ(find("latest")->step, 15);
}

const TrainingState kSettings{.corpus = "aa", .rows = "seed=1", .batches = "size=1"};

// In the third epoch, which was divided anew before.
TrainingState state_to_continue() {
  return {.step = 50,
          .position = {.epoch = 2, .step = 7},
          .division = {.epoch = 2, .visits = 12, .order = EpochOrder{.attempt = 1}},
          .division_step = 43,
          .rest = EpochStart{.epoch = 2, .visits = 40, .order = EpochOrder{.attempt = 1}},
          .corpus = "aa",
          .rows = "seed=1",
          .batches = "size=1"};
}

// What continue_with() gives, and what it says.
struct Continued {
  TrainingState state;
  std::string said;
};

Continued continued(const TrainingState& state, const TrainingState& now) {
  testing::internal::CaptureStderr();
  TrainingState found = continue_with(state, now);
  return {.state = std::move(found), .said = testing::internal::GetCapturedStderr()};
}

TEST_F(Resume, WithTheSameDataAndSettingsTheStateIsWhatItWas) {
  const auto [state, said] = continued(state_to_continue(), kSettings);
  EXPECT_EQ(state, state_to_continue());
  EXPECT_EQ(said, "");
}

TEST_F(Resume, OtherDataAreSaidAndTheEpochBeginsAgain) {
  const auto [other, said] =
      continued(state_to_continue(), {.corpus = "bb", .rows = "seed=2", .batches = "size=2"});
  EXPECT_EQ(other.position, (DataPosition{.epoch = 2, .step = 0}));
  EXPECT_EQ(other.division, EpochStart{.epoch = 2});
  EXPECT_EQ(other.division_step, 50);
  EXPECT_EQ(other.step, 50);
  EXPECT_EQ(other.corpus, "bb");
  EXPECT_EQ(other.rows, "seed=2");
  EXPECT_EQ(other.batches, "size=2");
  for (const auto* part :
       {"fingerprint bb; was aa", "seed=2; was seed=1", "epoch 3 begins again"}) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  }
}

TEST_F(Resume, OtherBatchesAreSaidAndTheEpochGoesOnWithItsRest) {
  TrainingState now = kSettings;
  now.batches = "size=2";
  const auto [other, said] = continued(state_to_continue(), now);
  EXPECT_EQ(other.position, (DataPosition{.epoch = 2, .step = 0}));
  EXPECT_EQ(other.division, state_to_continue().rest);
  EXPECT_EQ(other.division_step, 50);
  EXPECT_EQ(other.batches, "size=2");
  EXPECT_FALSE(other.begins_epoch());
  for (const auto* part : {"size=2; was size=1", "Epoch 3 goes on", "the 40 clips"}) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  }
}

TEST_F(Resume, WhereTheOrderIsNotKnownOtherBatchesBeginTheEpochAgain) {
  TrainingState old = state_to_continue();
  old.rest.reset();
  TrainingState now = kSettings;
  now.batches = "size=2";
  const auto [other, said] = continued(old, now);
  EXPECT_EQ(other.position, (DataPosition{.epoch = 2, .step = 0}));
  EXPECT_EQ(other.division, EpochStart{.epoch = 2});
  EXPECT_NE(said.find("epoch 3 begins again"), std::string::npos) << said;
}

}  // namespace
}  // namespace myxtts::resume_test
