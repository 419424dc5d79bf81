// SPDX-License-Identifier: Apache-2.0
#include "e2e/training_bench.h"
#include "support/one_sentence.h"

namespace myxtts::test {
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

}  // namespace
}  // namespace myxtts::test
