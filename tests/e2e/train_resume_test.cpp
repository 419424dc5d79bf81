// SPDX-License-Identifier: Apache-2.0
//
// Runs that go on: what they keep, what is said of it, and what cannot go on.
#include <csignal>
#include <fstream>

#include "e2e/training_bench.h"
#include "support/one_sentence.h"
#include "support/tone_corpus.h"

namespace myxtts::test::train_resume_test {
namespace {

namespace fs = std::filesystem;

class TrainResume : public TrainingBench {
 protected:
  // A folder as a run leaves it, with these settings and without a whole checkpoint.
  fs::path begun(const std::string& name, const std::string& settings) const {
    fs::create_directories(path(name) / "checkpoints" / "step-0000001");
    std::ofstream(path(name) / "config.yaml") << settings;
    return path(name);
  }
};

TEST_F(TrainResume, OtherClipsLeaveTheSettingsOfTheRunAsTheyAreAndWhatChangedIsSaid) {
  trained("run", {"--max-steps", "1", "--lr", "0.003", "--batch-size", "3"});
  write_tone_corpus(path("more"), 12);
  const auto more = run_program(
      {"train", "--resume", path("run"), "--train-data", path("more"), "--max-steps", "2"});
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(curve("run", "lr"), (std::vector<double>{0.003, 0.003}));
  const std::string settings = contents_of(path("run") / "config.yaml");
  EXPECT_TRUE(has(settings, "batch_size: 3 ")) << settings;
  EXPECT_TRUE(has(settings, path("more").string())) << settings;
  EXPECT_TRUE(has(more.err, "changed since the run was begun: data.train_data is " +
                                path("more").string() + ", was " + path("corpus").string() +
                                "; train.max_steps is 2, was 1"))
      << more.err;

  const auto checked = run_program({"train", "--dry-run", "--quiet", "--resume", path("run")});
  EXPECT_EQ(checked.exit_code, 0) << checked.out;
  EXPECT_TRUE(has(checked.out, "2 steps are done, so that nothing is left to train"))
      << checked.out;

  // Who names the file of the run means the run.
  const auto by_file =
      run_program({"train", "--resume", path("run") / "config.yaml", "--max-steps", "3"});
  ASSERT_EQ(by_file.exit_code, 0) << by_file.err;
  EXPECT_EQ(curve("run", "step").back(), 3);
  const auto earlier = run_program({"train", "--dry-run", "--quiet", "--max-steps", "9", "--resume",
                                    path("run") / "checkpoints/step-0000001"});
  EXPECT_EQ(earlier.exit_code, 0) << earlier.out;
  EXPECT_TRUE(has(earlier.out, "lets 9 run; 1 is done;")) << earlier.out;
}

TEST_F(TrainResume, WhatCannotGoOnIsRefusedInOneSentenceWithWhatToDo) {
  const std::string empty = begun("empty", "");
  const std::string damaged = begun("damaged", "train: {batch_size: [\n");
  const std::string without = begun("without", "train: {batch_size: 2}\n");
  const std::string nowhere = path("nowhere");
  struct Refusal {
    std::string point;
    int exit_code;
    std::string words;
  };
  for (const auto& [point, exit_code, words] :
       {Refusal{nowhere, 3, "--resume " + nowhere + ": there is no such run or checkpoint; give"},
        Refusal{empty, 2, empty + "/config.yaml is empty. The run wrote its settings there"},
        Refusal{damaged, 2, "restore the file, or remove it and give them as flags"},
        Refusal{without, 2, without + "/config.yaml names no corpus to go on with"}}) {
    const auto result = run_program({"train", "--quiet", "--device", "cpu", "--resume", point});
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_TRUE(has(result.err, words)) << result.err;
    expect_one_sentence(result.err);
  }
  EXPECT_FALSE(fs::exists(nowhere));
}

TEST_F(TrainResume, AFolderAroundARunOrInItIsRefusedWithTheRun) {
  const fs::path run = begun("runs/voice", "data: {train_data: corpus}\n");
  fs::create_directories(run / "samples");
  std::ofstream(path("model.safetensors")) << "x";
  const auto file =
      run_program({"export", "--model", path("model.safetensors"), "--out", path("x")});
  EXPECT_TRUE(has(file.err, "is a file of a model; name its folder, --model ")) << file.err;
  for (const Words& more : {Words{"--dry-run"}, Words{"--resume"}, Words{}}) {
    const auto among = train("runs", more);
    EXPECT_NE(among.exit_code, 0);
    const std::string said = more == Words{"--dry-run"} ? among.out : among.err;
    EXPECT_TRUE(has(said, "is a folder of runs; give ")) << said;
    EXPECT_TRUE(has(said, "--checkpoint-dir " +
                              path(more == Words{"--resume"} ? "runs/voice" : "runs/new").string()))
        << said;
    EXPECT_FALSE(fs::exists(path("runs") / "log.txt"));
  }
  for (const char* point : {"runs", "runs/voice/samples"}) {
    const auto resumed = train("run", {"--resume", path(point)});
    EXPECT_EQ(resumed.exit_code, 2) << resumed.err;
    EXPECT_TRUE(has(resumed.err, "; give --resume " + run.string() + ".")) << resumed.err;
    EXPECT_FALSE(fs::exists(path("run")));
    const auto spoken = run_program({"export", "--model", path(point), "--out", path("x")});
    EXPECT_EQ(spoken.exit_code, 3) << spoken.err;
    EXPECT_TRUE(has(spoken.err, "holds no model itself; give --model " + run.string() + "."))
        << spoken.err;
  }
}

}  // namespace
}  // namespace myxtts::test::train_resume_test
