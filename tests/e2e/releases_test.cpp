// SPDX-License-Identifier: Apache-2.0
// What earlier releases wrote is read: tests/releases/make.py made the fixtures with their
// programs.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "audio/audio_file.h"
#include "base/child_process.h"
#include "support/program.h"
#include "support/tone_corpus.h"

namespace myxtts::test::releases_test {
namespace {

namespace fs = std::filesystem;

// The files of a release, where they were made: indexes and caches know clips by their paths. One
// test at a time has them.
class ReleaseFiles {
 public:
  explicit ReleaseFiles(const fs::path& archive)
      : folder_("/tmp/myxtts-release-" + archive.stem().stem().string()),
        lock_(open((folder_.string() + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    flock(lock_, LOCK_EX);
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    ChildProcess unpacking({"tar", "xzf", archive.string(), "-C", folder_.string()});
    if (unpacking.wait() != 0) ADD_FAILURE() << archive;
  }
  ReleaseFiles(const ReleaseFiles&) = delete;
  ReleaseFiles& operator=(const ReleaseFiles&) = delete;
  ~ReleaseFiles() {
    fs::remove_all(folder_);
    close(lock_);
  }

  std::string operator/(const std::string& name) const { return (folder_ / name).string(); }

 private:
  fs::path folder_;
  int lock_;
};

std::vector<fs::path> releases() {
  std::vector<fs::path> archives;
  for (const auto& entry :
       fs::directory_iterator(fs::path(std::getenv("MYXTTS_TEST_DATA")) / "releases")) {
    if (entry.path().extension() == ".gz") archives.push_back(entry.path());
  }
  return archives;
}

double last_training_loss(const std::string& metrics) {
  std::ifstream lines(metrics);
  double loss = NAN;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event.at("event") == "train") loss = event.at("loss");
  }
  return loss;
}

// The clips' files are all zeros, so their texts and lengths come from the index and their sound
// and codes from the cache; the loss says that both are what they were, and that weights and
// moments are.
TEST(Releases, TheRunOfEachGoesOnWithItsIndexAndItsCache) {
  ASSERT_FALSE(releases().empty());
  for (const fs::path& archive : releases()) {
    const ReleaseFiles files(archive);
    const auto result = run_program({"train", "--resume", files / "run", "--max-steps", "3"});
    ASSERT_EQ(result.exit_code, 0) << archive << '\n' << result.err;
    const auto expected = nlohmann::json::parse(std::ifstream(files / "expected.json"));
    const double loss = expected.at("loss_of_step_3");
    EXPECT_NEAR(last_training_loss(files / "run/metrics.jsonl"), loss, 1e-4 * loss) << archive;
  }
}

TEST(Releases, TheModelAndTheCheckpointOfEachSpeak) {
  for (const fs::path& archive : releases()) {
    const ReleaseFiles files(archive);
    write_tone(files / "me.wav", 140, 3);
    for (const char* model : {"model", "run"}) {
      const auto result = run_program({"synthesize", "--model", files / model, "--reference",
                                       files / "me.wav", "--language", "en", "--text", "abc.",
                                       "--threads", "1", "--out", files / "a.wav"});
      ASSERT_EQ(result.exit_code, 0) << archive << ' ' << model << '\n' << result.err;
      EXPECT_GT(read_audio(files / "a.wav").frames(), 1000) << archive << ' ' << model;
    }
  }
}

}  // namespace
}  // namespace myxtts::test::releases_test
