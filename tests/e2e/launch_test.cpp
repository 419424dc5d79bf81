// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include "e2e/training_bench.h"
#include "support/one_sentence.h"

namespace myxtts::test::launch_test {
namespace {

struct BadLaunch {
  Words arguments;
  std::string names;   // what the sentence must quote
  std::string remedy;  // and what it must say to do
  std::vector<std::string> environment = {};
};

TEST(Launch, AWrongCommandLineIsOneSentenceThatSaysWhatToType) {
  const std::string example = "-- train --config run.yaml";
  const std::vector<BadLaunch> wrongs{
      {{}, "--ranks", "myxtts launch --help"},
      {{"--", "train"}, "--gpus LIST", "myxtts launch --help"},
      {{"--ranks", "2", "--gpus", "0,1", "--", "train"}, "--ranks and --gpus", "leave one of them"},
      {{"--gpus", "0,0", "--", "train"}, "'0,0'", "--gpus all -- train"},
      {{"--gpus", "none", "--", "train"}, "'none'", "--gpus all -- train"},
      {{"--ranks", "0", "--", "train"}, "--ranks is 0", "from 1 to 1024"},
      {{"--ranks", "1025", "--", "train"}, "--ranks is 1025", "from 1 to 1024"},
      {{"--ranks", "two", "--", "train"}, "'two'", "--ranks takes N"},
      {{"--ranks", "2", "--port", "70000", "--", "train"}, "--port is 70000", "to 65535"},
      {{"--ranks", "2"}, "needs the command", example},
      {{"--ranks", "2", "--"}, "needs the command", example},
      {{"--ranks", "2", "--", "trian"}, "'trian'", example},
      {{"--ranks", "2", "--", "config"}, "'config'", example},
      {{"--ranks", "2", "--", "--quiet"}, "'--quiet'", example},
      {{"--ranks", "2", "--", "launch", "--ranks", "2", "--", "train"}, "'launch'", example},
      {{"--ranks", "2", "train", "--train-data", "x"}, "'--train-data'", "-- train --train-data"},
      {{"--ranks", "2", "--", "train"},
       "rank 1 of 2 already",
       "'myxtts train' in place of",
       {"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1"}},
      {{"--ranks", "2", "--", "train"}, "WORLD_SIZE is not set", "or neither", {"RANK=1"}},
  };
  for (const BadLaunch& wrong : wrongs) {
    Words words = wrong.arguments;
    words.insert(words.begin(), "launch");
    const auto result = run_program(words, {.environment = wrong.environment});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    expect_one_sentence(result.err);
    EXPECT_TRUE(has(result.err, wrong.names)) << result.err;
    EXPECT_TRUE(has(result.err, wrong.remedy)) << result.err;
  }
}

TEST(Launch, TheHelpShowsWhereTheCommandStands) {
  const auto result = run_program({"launch", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(has(result.out, "Usage: myxtts launch [flags] -- COMMAND")) << result.out;
}

// Every rank finds the same fault; the launcher gives the code that one process would.
TEST(Launch, AFaultOfTheCommandIsToldAndHasItsExitCode) {
  const auto result =
      run_program({"launch", "--ranks", "2", "--", "train", "--train-data", "/no/such/corpus",
                   "--quiet", "--device", "cpu", "--batch-size", "nothing"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_TRUE(has(result.err, "\nmyxtts: The run ended because rank ")) << result.err;
  EXPECT_TRUE(has(result.err, "ended with exit code 2")) << result.err;
  EXPECT_TRUE(has(result.err, "'nothing'")) << result.err;
}

class LaunchTraining : public TrainingBench {
 protected:
  Words launched(const std::string& run, const Words& more = {}) const {
    Words words{"launch", "--ranks", "2", "--"};
    const Words training = command(run, more);
    words.insert(words.end(), training.begin(), training.end());
    return words;
  }
};

int count(const std::string& text, const std::string& words) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST_F(LaunchTraining, RanksTrainOneModelAndSpeakWithOneVoice) {
  const auto result = run_program(launched("run", {"--batch-size", "2", "--max-steps", "4"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(curve("run", "step"), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(checkpoints("run").back(), "step-0000004");
  EXPECT_EQ(count(result.err, "Model training starting now"), 1) << result.err;
  EXPECT_EQ(count(result.err, "[rank 1] train: "), 0) << result.err;
}

TEST_F(LaunchTraining, CtrlCEndsAllRanksWithACheckpoint) {
  StartedProgram program(launched("run", {"--max-steps", "100000", "--epochs", "100000"}));
  ASSERT_TRUE(program.has_said("Model training starting now"));
  // A busy machine takes its time over the first step, without which there is nothing to save.
  const auto has_stepped = [this] {
    std::error_code missing;
    const auto bytes = std::filesystem::file_size(path("run") / "metrics.jsonl", missing);
    return !missing && bytes > 0;
  };
  for (int look = 0; look < 600 && !has_stepped(); ++look) {
    program.ends_within(std::chrono::milliseconds(100));
  }
  program.send(SIGINT);
  ASSERT_TRUE(program.ends_soon());
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_EQ(count(result.err, "interrupted at step "), 1) << result.err;
  EXPECT_FALSE(has(result.err, "The run ended because")) << result.err;
  EXPECT_FALSE(checkpoints("run").empty());
}

}  // namespace
}  // namespace myxtts::test::launch_test
