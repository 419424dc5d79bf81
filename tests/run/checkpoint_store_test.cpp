// SPDX-License-Identifier: Apache-2.0
#include "run/checkpoint_store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/checksum.h"
#include "base/error.h"
#include "run/sealed_folder.h"
#include "support/killed_process.h"
#include "support/temporary_folder.h"

namespace myxtts::checkpoint_store_test {
namespace {

namespace fs = std::filesystem;
using test::contents_of;
using test::TemporaryFolder;

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

void save(CheckpointStore& store, std::int64_t step, std::optional<double> loss = {}) {
  auto writer = store.write(step, loss);
  write_text(writer / "model", "weights of " + std::to_string(step));
  write_text(writer / "state", std::string(10'000, static_cast<char>('a' + step % 26)));
  writer.commit();
}

// A list of checksums that is hostile, but not by accident.
void write_sealed(const fs::path& folder, nlohmann::ordered_json json) {
  FastChecksum sum;
  sum.add(bytes_of(json.dump(2)));
  json["seal"] = fmt::format("{:016x}", sum.value());
  write_text(folder / kChecksums, json.dump(2));
}

std::vector<std::int64_t> steps_of(const CheckpointStore& store) {
  std::vector<std::int64_t> steps;
  for (const auto& each : store.all()) steps.push_back(each.step);
  return steps;
}

TEST(CheckpointStore, LatestIsTheCheckpointThatWasCommittedLast) {
  const TemporaryFolder run;
  CheckpointStore store(run.path());
  save(store, 10);
  save(store, 20);

  EXPECT_EQ(contents_of(run / "latest" / "model"), "weights of 20");
  EXPECT_EQ(store.newest_valid()->step, 20);
}

TEST(CheckpointStore, TheBestCheckpointHasTheLowestLossOfThoseThatWereMeasured) {
  const TemporaryFolder run;
  EXPECT_FALSE(best_checkpoint(run / "nowhere"));
  EXPECT_FALSE(fs::exists(run / "nowhere"));
  CheckpointStore store(run.path(), 9, 1);
  save(store, 5);
  EXPECT_FALSE(best_checkpoint(run.path())) << "it was not measured";
  save(store, 10, 4.5);
  save(store, 20, 3.5);
  save(store, 30, 4.0);
  EXPECT_EQ(best_checkpoint(run.path())->step, 20);
  EXPECT_EQ(contents_of(best_checkpoint(run.path())->folder / "model"), "weights of 20");
}

TEST(CheckpointStore, BestIsALinkToTheLowestLossThatOutlivesOldOnesAndIsSaidWhenItMoves) {
  const TemporaryFolder run;
  testing::internal::CaptureStderr();
  {
    CheckpointStore store(run.path(), 1, 1);
    save(store, 5);
    EXPECT_FALSE(fs::exists(fs::symlink_status(run / "best"))) << "nothing was measured";
    save(store, 10, 4.5);
    save(store, 20, 3.5);
    for (const std::int64_t step : {30, 40, 50}) save(store, step, 4.0);
    EXPECT_EQ(contents_of(run / "best" / "model"), "weights of 20");
    EXPECT_EQ(contents_of(run / "latest" / "model"), "weights of 50");
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("best is the checkpoint of step 20 now, with a validation loss of 3.5"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("checkpoint of step 30 now"), std::string::npos) << said;
  CheckpointStore resumed(run.path(), 1, 1);
  EXPECT_EQ(resumed.newest_valid()->step, 50);
  save(resumed, 60, 3.7);
  EXPECT_EQ(contents_of(run / "best" / "model"), "weights of 20") << "it is compared with that";
  save(resumed, 15, 9.0);  // goes on from before 20
  EXPECT_EQ(contents_of(run / "best" / "model"), "weights of 15");
  CheckpointStore none_kept(run.path(), 2, 0);
  save(none_kept, 70, 1.0);
  EXPECT_FALSE(fs::exists(fs::symlink_status(run / "best"))) << "--keep-best 0";
}

TEST(CheckpointStore, ByCharacterErrorsTheBestMovesWhenTheyAreHeard) {
  const TemporaryFolder run;
  CheckpointStore store(run.path(), 1, 1, BestBy::Cer);
  save(store, 10, 1.0);
  EXPECT_FALSE(fs::exists(fs::symlink_status(run / "best"))) << "nothing was heard yet";
  EXPECT_TRUE(store.note_sample_cer(10, 0.5));
  save(store, 20, 2.0);
  EXPECT_EQ(contents_of(run / "best" / "model"), "weights of 10");
  EXPECT_TRUE(store.note_sample_cer(20, 0.25));
  EXPECT_EQ(contents_of(run / "best" / "model"), "weights of 20") << "though its loss is higher";
  EXPECT_EQ(steps_of(store), (std::vector<std::int64_t>{20}));
  EXPECT_FALSE(store.note_sample_cer(10, 0.1)) << "it is gone";
  save(store, 30, 0.5);
  EXPECT_TRUE(store.note_sample_cer(30, 0.25));
  EXPECT_EQ(contents_of(run / "best" / "model"), "weights of 30") << "of equal ones the lower loss";
  EXPECT_EQ(store.newest_valid()->step, 30) << "what was noted does not count as damage";
  EXPECT_EQ(best_checkpoint(run.path(), BestBy::Cer)->sample_cer, 0.25);
}

TEST(CheckpointStore, WithoutACommitNothingIsLeft) {
  const TemporaryFolder run;
  CheckpointStore store(run.path());
  {
    auto writer = store.write(10);
    write_text(writer / "model", "half");
  }
  EXPECT_TRUE(fs::is_empty(run / "checkpoints"));
  EXPECT_FALSE(store.newest_valid().has_value());
}

TEST(CheckpointStore, KeepsTheLastOnesAndTheBest) {
  const TemporaryFolder run;
  CheckpointStore store(run.path(), 2, 1);
  save(store, 1, 3.0);
  save(store, 2, 1.0);
  save(store, 3, 2.0);
  save(store, 4, 2.5);
  save(store, 5, 2.6);
  EXPECT_EQ(steps_of(store), (std::vector<std::int64_t>{2, 4, 5}));
}

TEST(CheckpointStore, WhatAKilledProcessHadNoTimeToRemoveGoesWithTheNextStart) {
  const TemporaryFolder run;
  {
    CheckpointStore all_kept(run.path(), 9, 0);
    for (const std::int64_t step : {6, 7, 8}) save(all_kept, step);
  }
  const CheckpointStore store(run.path(), 2, 0);
  EXPECT_EQ(steps_of(store), (std::vector<std::int64_t>{6, 7, 8}));
  EXPECT_EQ(store.newest_valid()->step, 8);
  EXPECT_EQ(steps_of(store), (std::vector<std::int64_t>{7, 8}));
}

TEST(CheckpointStore, ADamagedCheckpointIsPassedOverForTheOneBefore) {
  const TemporaryFolder run;
  CheckpointStore store(run.path());
  save(store, 1);
  save(store, 2);
  const fs::path state = run / "checkpoints" / "step-0000002" / "state";
  std::string bytes = contents_of(state);
  bytes[5'000] = static_cast<char>(bytes[5'000] ^ 1);
  write_text(state, bytes);

  EXPECT_EQ(store.newest_valid()->step, 1);
  EXPECT_THROW((void)store.at("2"), DataError);
  EXPECT_EQ(store.at("1").step, 1);
}

TEST(CheckpointStore, EveryKindOfDamageIsFound) {
  const TemporaryFolder run;
  CheckpointStore store(run.path());
  save(store, 1);
  const fs::path folder = run / "checkpoints" / "step-0000001";
  EXPECT_EQ(find_damage(folder), "");

  fs::resize_file(folder / "state", 9'999);
  EXPECT_EQ(find_damage(folder), "state has 9999 bytes in place of 10000");
  fs::remove(folder / "state");
  EXPECT_EQ(find_damage(folder), "state is missing");
  write_text(folder / kChecksums, "{}");
  EXPECT_NE(find_damage(folder).find("not a list of checksums"), std::string::npos);
  write_sealed(folder, {{"version", 1}, {"step", 1}, {"files", {{"model", 7}}}});
  EXPECT_EQ(find_damage(folder), "checksums.json has no checksum of model");
}

TEST(CheckpointStore, AStepMadeAgainReplacesTheOneBefore) {
  const TemporaryFolder run;
  CheckpointStore store(run.path());
  save(store, 7);
  auto writer = store.write(7);
  write_text(writer / "model", "again");
  writer.commit();
  EXPECT_EQ(contents_of(run / "latest" / "model"), "again");
  EXPECT_EQ(steps_of(store), (std::vector<std::int64_t>{7}));
}

TEST(CheckpointStore, AFileThatNeverChangesTakesRoomOnce) {
  const TemporaryFolder run;
  write_text(run / "dvae", "frozen");
  CheckpointStore store(run.path());
  for (const std::int64_t step : {1, 2}) {
    auto writer = store.write(step);
    writer.link(run / "dvae", "dvae");
    writer.commit();
  }
  EXPECT_EQ(contents_of(run / "latest" / "dvae"), "frozen");
  EXPECT_EQ(fs::hard_link_count(run / "dvae"), 3u);
}

void save_some(const fs::path& run, std::int64_t step, std::int64_t end) {
  CheckpointStore store(run);
  for (; step < end; ++step) save(store, step, 1.0 + static_cast<double>(step * 7 % 11));
}

TEST(CheckpointStore, AKillAtAnyMomentLeavesAWholeLatestThatNeverGoesBack) {
  const TemporaryFolder run;
  const auto window = test::time_of_process([&run] { save_some(run.path() / "timed", 1, 3); });
  std::int64_t newest = 0;
  int unfinished = 0;
  constexpr int kKills = 60;
  const auto met = [&] { return unfinished > 10 && newest > 3; };  // saves, and not only the start
  for (int kill_number = 0; kill_number < kKills || (!met() && kill_number < 20 * kKills);
       ++kill_number) {
    test::run_and_kill([&] { save_some(run.path(), newest + 1, INT64_MAX); }, window);
    if (!fs::exists(run / "checkpoints")) continue;

    for (const auto& entry : fs::directory_iterator(run / "checkpoints")) {
      if (entry.path().filename().string().starts_with(".unfinished")) ++unfinished;
    }
    if (!fs::exists(run / "latest")) continue;  // killed before the very first one
    ASSERT_EQ(find_damage(run / "latest"), "") << "after kill " << kill_number;
    if (fs::exists(fs::symlink_status(run / "best"))) {
      ASSERT_EQ(find_damage(run / "best"), "") << "after kill " << kill_number;
    }
    const CheckpointStore store(run.path());
    const auto found = store.newest_valid();
    ASSERT_TRUE(found.has_value());
    ASSERT_GE(found->step, newest);
    ASSERT_EQ(fs::canonical(run / "best").filename(),
              best_checkpoint(run.path())->folder.filename());
    newest = found->step;
  }
  EXPECT_TRUE(met()) << unfinished << " kills while saving, newest step " << newest;
}

TEST(CheckpointStore, ChecksumsThatAreNestedWithoutEndAreDamage) {
  const TemporaryFolder run;
  CheckpointStore store(run.path());
  save(store, 1);
  const fs::path folder = run / "checkpoints" / "step-0000001";
  write_text(folder / kChecksums, R"({"version": 1, "step": 1, "files": {}, "seal": )" +
                                      std::string(200'000, '[') + std::string(200'000, ']') + "}");
  EXPECT_NE(find_damage(folder).find("not a list of checksums"), std::string::npos);
}

// As after a copy that followed links.
TEST(CheckpointStore, ALatestThatIsAFolderStopsNoCheckpoint) {
  const TemporaryFolder run;
  fs::create_directories(run / "latest" / "something");
  CheckpointStore store(run.path(), 1, 0);
  testing::internal::CaptureStderr();
  save(store, 1);
  save(store, 2);
  EXPECT_EQ(store.newest_valid()->step, 2);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("step-0000002, which is whole"), std::string::npos) << said;
  EXPECT_EQ(steps_of(store), (std::vector<std::int64_t>{2}));
}

// What disks do that cannot exchange two names.
TEST(PutFolder, InStepsTheNewOneHasTheNameAndTheOldOneIsHandedBack) {
  const TemporaryFolder folder;
  const auto make = [&](const std::string& text) {
    fs::create_directories(folder / "staged");
    write_text(folder / "staged" / "file", text);
  };
  make("first");
  put_folder_in_steps(folder / "staged", folder / "target");
  EXPECT_EQ(contents_of(folder / "target" / "file"), "first");
  EXPECT_FALSE(fs::exists(folder / "staged"));
  make("second");
  put_folder_in_steps(folder / "staged", folder / "target");
  EXPECT_EQ(contents_of(folder / "target" / "file"), "second");
  EXPECT_EQ(contents_of(folder / "staged" / "file"), "first");
  EXPECT_THROW(put_folder_in_steps(folder / "none", folder / "other"), DataError);
}

}  // namespace
}  // namespace myxtts::checkpoint_store_test
