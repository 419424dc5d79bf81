// SPDX-License-Identifier: Apache-2.0
//
// kill -9 at any moment of a training run, also in the middle of saving: the run that is resumed
// ends with the bits of one that nothing happened to.
#include <chrono>
#include <csignal>
#include <random>

#include "e2e/training_bench.h"

namespace myxtts::test::train_kill_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class TrainKill : public TrainingBench {
 protected:
  TrainKill() : TrainingBench(8) {}

  // Every step is saved, so that many a kill meets a save.
  static Words settings() {
    return {"--max-steps", "8",       "--save-steps",   "1", "--keep-last",  "2",
            "--resume",    "--quiet", "--val-fraction", "0", "--batch-size", "2"};
  }

  // The run that nothing happens to, and how long it takes.
  void train_whole() {
    const auto start = std::chrono::steady_clock::now();
    trained("whole", settings());
    time_ = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
  }

  void kill_and_resume(int number) {
    const std::string run = "killed-" + std::to_string(number);
    {
      StartedProgram program(command(run, settings()));
      const milliseconds moment(
          std::uniform_int_distribution<std::int64_t>(0, time_.count())(random_));
      if (program.ends_within(moment)) {
        time_ = moment;  // the machine has become faster
      } else {
        program.send(SIGKILL);
        const int exit_code = program.finish().exit_code;
        if (exit_code == 128 + SIGKILL)
          ++kills_;
        else
          EXPECT_EQ(exit_code, 0) << "it came to its end just before";
      }
    }
    count_unfinished(path(run) / "checkpoints");
    trained(run, settings());
    expect_same_end(run);
    fs::remove_all(path(run));
  }

  void count_unfinished(const fs::path& folder) {
    if (!fs::exists(folder)) return;
    ++with_checkpoints_;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().filename().string().starts_with(".unfinished")) ++in_a_save_;
    }
  }

  void expect_same_end(const std::string& run) const {
    for (const char* file :
         {"model.safetensors", "optimiser.safetensors", "dvae.safetensors", "vocab.json"}) {
      EXPECT_TRUE(latest(run, file) == latest("whole", file)) << run << " " << file;
    }
    EXPECT_EQ(state(run), state("whole")) << run;
    EXPECT_EQ(curve(run, "step"), curve("whole", "step")) << run;
    EXPECT_EQ(curve(run, "loss"), curve("whole", "loss")) << run;
    EXPECT_EQ(checkpoints(run), checkpoints("whole")) << run;
  }

  // Without what the clock decides.
  nlohmann::json state(const std::string& run) const {
    auto json = nlohmann::json::parse(latest(run, "state.json"));
    json.erase("seconds");
    json.erase("metrics_position");
    return json;
  }

  milliseconds time_{};
  std::mt19937 random_{20240611};
  int kills_ = 0;
  int with_checkpoints_ = 0;
  int in_a_save_ = 0;
};

TEST_F(TrainKill, FiveRunsThatAreKilledAndResumedEndWithTheBitsOfOneThatWasNot) {
  train_whole();
  for (int number = 0; number < 20 && kills_ < 5; ++number) kill_and_resume(number);
  EXPECT_EQ(kills_, 5);
}

class TrainKillLong : public TrainKill {};

TEST_F(TrainKillLong, AHundredRunsThatAreKilledAndResumedEndWithTheBitsOfOneThatWasNot) {
  train_whole();
  for (int number = 0; number < 100 && !HasFailure(); ++number) kill_and_resume(number);
  RecordProperty("kills", kills_);
  RecordProperty("kills_in_a_save", in_a_save_);
  std::printf("%d kills, %d after the first save began, %d in the middle of a save\n", kills_,
              with_checkpoints_, in_a_save_);
  EXPECT_GT(kills_, 70);
  EXPECT_GT(in_a_save_, 5) << "the kills missed what they are for";
}

}  // namespace
}  // namespace myxtts::test::train_kill_test
