// SPDX-License-Identifier: Apache-2.0
//
// Limits of the system: the program works within them, or says in a sentence which one to raise.
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "e2e/training_bench.h"
#include "support/small_disk.h"

namespace myxtts::test::limits_test {
namespace {

// Lowers a limit of this process, which the program inherits, until the end of scope.
class Limit {
 public:
  Limit(__rlimit_resource resource, rlim_t most) : resource_(resource) {
    getrlimit(resource_, &before_);
    const rlimit lowered{most, before_.rlim_max};
    setrlimit(resource_, &lowered);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  ~Limit() { setrlimit(resource_, &before_); }

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

class Limits : public TrainingBench {
 protected:
  Limits() : TrainingBench(4) {}

  ProgramResult trained_within(__rlimit_resource resource, rlim_t most, const std::string& run) {
    StartedProgram program = [&] {
      const Limit limit(resource, most);
      return StartedProgram(command(run, {"--max-steps", "1", "--val-fraction", "0", "--quiet"}));
    }();
    return program.finish();
  }
};

TEST_F(Limits, ThirtyTwoOpenFilesAreEnoughToTrain) {
  const auto result = trained_within(RLIMIT_NOFILE, 32, "run");
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// Files that are open here, and so in every program that is started.
rlim_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<rlim_t>(std::distance(begin(files), end(files)));
}

// Whatever file is the one too many: none of them counts as a clip that is bad. How many files are
// open before the program begins is not ours: the loader refuses the lowest limits itself.
TEST_F(Limits, TooFewOpenFilesAreSaidWithTheLimitToRaise) {
  int said = 0;
  const rlim_t lowest = open_files() + 1;
  for (rlim_t files = lowest; files < lowest + 32; ++files) {
    const std::string number = std::to_string(files);
    const auto result = trained_within(RLIMIT_NOFILE, files, "run-" + number);
    if (result.exit_code == 127) continue;
    if (result.exit_code == 0) break;
    ++said;
    EXPECT_EQ(result.exit_code, 3) << number << result.err;
    EXPECT_TRUE(has(result.err, "This shell allows " + number +
                                    " open files at once; allow more with: ulimit -n 4096"))
        << result.err;
    EXPECT_FALSE(has(result.err, "apt install")) << result.err;
  }
  EXPECT_GE(said, 3);
}

TEST_F(Limits, TooLittleMemoryIsSaidWithWhatToDo) {
  const auto result = trained_within(RLIMIT_AS, rlim_t{850} << 20U, "run");
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_TRUE(has(result.err, "There is no memory left") || has(result.err, "ulimit -v"))
      << result.err;
}

TEST_F(Limits, ATemporaryFolderWithoutRoomIsNamed) {
  const SmallDisk disk(16);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a disk of 16 kB";
  std::ofstream(disk / "filler") << std::string(100'000, 'x');
  const auto result = run_program(
      {"profile", "--device", "cpu", "--model-size", "tiny", "--train-data", path("corpus")},
      {.environment = {"TMPDIR=" + disk.path().string()}});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_TRUE(has(result.err + result.out, disk.path().string())) << result.err << result.out;
  EXPECT_TRUE(has(result.err + result.out, "is full")) << result.err << result.out;
}

}  // namespace
}  // namespace myxtts::test::limits_test
