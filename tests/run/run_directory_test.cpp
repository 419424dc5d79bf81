// SPDX-License-Identifier: Apache-2.0
#include "run/run_directory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <set>
#include <string>

#include "base/error.h"
#include "support/small_disk.h"
#include "support/temporary_folder.h"

namespace myxtts::run_directory_test {
namespace {

namespace fs = std::filesystem;
using test::SmallDisk;
using test::TemporaryFolder;

std::string refusal(const fs::path& folder) {
  try {
    const RunDirectory directory(folder);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(RunDirectory, IsMadeWithTheFoldersAboveIt) {
  const TemporaryFolder folder;
  const RunDirectory directory(folder / "a/b/run");
  EXPECT_TRUE(fs::is_directory(folder / "a/b/run"));
  EXPECT_FALSE(directory.has_checkpoints());
  fs::create_directories(directory / "checkpoints/.unfinished-3-1");
  EXPECT_FALSE(directory.has_checkpoints());
  fs::create_directories(directory / "checkpoints/step-0000003");
  EXPECT_TRUE(directory.has_checkpoints());
}

// A process that holds a run directory until it is told to end.
class Holder {
 public:
  explicit Holder(const fs::path& folder) {
    std::array<int, 2> ready{};
    std::array<int, 2> end{};
    EXPECT_EQ(pipe(ready.data()) + pipe(end.data()), 0);
    child_ = fork();
    if (child_ == 0) {
      const RunDirectory directory(folder);
      char byte = 0;
      ::close(end[1]);
      (void)!write(ready[1], "r", 1);
      (void)!read(end[0], &byte, 1);
      _exit(0);
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    end_ = end[1];
  }
  pid_t pid() const { return child_; }
  void kill_it() {
    kill(child_, SIGKILL);
    EXPECT_EQ(waitpid(child_, nullptr, 0), child_);
  }

 private:
  pid_t child_ = -1;
  int end_ = -1;
};

TEST(RunDirectory, ASecondProcessIsRefusedWithTheNumberOfTheFirst) {
  const TemporaryFolder folder;
  Holder holder(folder / "run");
  const std::string said = refusal(folder / "run");
  EXPECT_NE(said.find(fmt::format("in use by process {};", holder.pid())), std::string::npos)
      << said;
  holder.kill_it();
  EXPECT_EQ(refusal(folder / "run"), "") << "the lock outlived its process";
}

TEST(RunDirectory, TheSameProcessCannotHoldItTwice) {
  const TemporaryFolder folder;
  {
    const RunDirectory first(folder / "run");
    EXPECT_NE(refusal(folder / "run").find("in use"), std::string::npos);
  }
  EXPECT_EQ(refusal(folder / "run"), "");
}

TEST(RunDirectory, OnlyWhatThisStartMadeOfARunWithoutAModelIsDiscarded) {
  const auto left = [](const std::string& before, const std::string& run, const std::string& made) {
    const TemporaryFolder folder;
    if (!before.empty()) fs::create_directories(folder / before);
    const RunDirectory directory(folder / run);
    if (!made.empty()) fs::create_directories(directory / made);
    directory.discard_if_new();
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
      names.insert(entry.path().lexically_relative(folder.path()).string());
    }
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(left("", "run", ""), Names{});
  EXPECT_EQ(left("", "runs/anna/", ""), Names{});
  EXPECT_EQ(left("runs/other", "runs/anna", ""), (Names{"runs", "runs/other"}));
  EXPECT_EQ(left("run", "run", ""), Names{"run"});
  EXPECT_EQ(left("run/mine", "run", ""), (Names{"run", "run/mine", "run/lock"}));
  EXPECT_EQ(left("", "run", "latest"), (Names{"run", "run/lock", "run/latest"}));
}

TEST(RunDirectory, AFileInTheWayIsNamed) {
  const TemporaryFolder folder;
  std::ofstream(folder / "taken") << "x";
  for (const auto* name : {"taken", "taken/run"}) {
    const std::string said = refusal(folder / name);
    EXPECT_NE(said.find((folder / "taken").string() + " is not a folder"), std::string::npos)
        << said;
    EXPECT_NE(said.find("--checkpoint-dir"), std::string::npos) << said;
  }
}

TEST(RunDirectory, AReadOnlyDiskIsSaid) {
  SmallDisk disk(100);
  if (!disk.mounted() || !disk.make_read_only()) {
    GTEST_SKIP() << "this user may not mount a read-only disk";
  }
  for (const fs::path& folder : {disk.path(), disk / "run"}) {
    const std::string said = refusal(folder);
    EXPECT_NE(said.find("read-only"), std::string::npos) << said;
  }
}

TEST(RunDirectory, AFolderOfSomebodyElseIsSaid) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_NE(refusal(folder / "run").find("may not write there"), std::string::npos);
  EXPECT_NE(refusal(folder.path()).find("may not write there"), std::string::npos);
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(RunDirectory, AFullDiskIsSaid) {
  const SmallDisk disk(16);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a disk of 16 kB";
  std::ofstream(disk / "filler") << std::string(100'000, 'x');
  const std::string said = refusal(disk / "run");
  EXPECT_NE(said.find("is full"), std::string::npos) << said;
}

}  // namespace
}  // namespace myxtts::run_directory_test
