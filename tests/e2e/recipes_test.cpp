// SPDX-License-Identifier: Apache-2.0
//
// The recipes of configs/: every one is read, and the first makes a model.
#include <cstdlib>

#include "e2e/training_bench.h"

namespace myxtts::test::recipes_test {
namespace {

namespace fs = std::filesystem;

fs::path recipes() {
  return fs::path(std::getenv("MYXTTS_TEST_DATA")).parent_path() / "configs";
}

class Recipes : public TrainingBench {};

TEST_F(Recipes, EveryFileOfConfigsIsReadByTheProgram) {
  int read = 0;
  for (const auto& entry : fs::directory_iterator(recipes())) {
    const auto result = run_program({"config", "--config", entry.path()});
    EXPECT_EQ(result.exit_code, 0) << entry.path() << "\n" << result.err;
    ++read;
  }
  EXPECT_GE(read, 5);
}

TEST_F(Recipes, OneVoiceFromNothingMakesAModelInAFewSteps) {
  const auto result = run_program({"train",
                                   "--config",
                                   recipes() / "one-voice-from-nothing.yaml",
                                   "--train-data",
                                   path("corpus"),
                                   "--checkpoint-dir",
                                   path("run"),
                                   "--device",
                                   "cpu",
                                   "--model-size",
                                   "tiny",
                                   "--batch-size",
                                   "2",
                                   "--stage-budget",
                                   "dvae=2,gpt=2,decoder=1",
                                   "--warmup-steps",
                                   "0",
                                   "--eval-steps",
                                   "auto",
                                   "--samples",
                                   "0",
                                   "--val-fraction",
                                   "0.2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* file : {"config.json", "model.safetensors", "dvae.safetensors", "vocab.json"}) {
    EXPECT_FALSE(latest("run", file).empty()) << file;
  }
}

}  // namespace
}  // namespace myxtts::test::recipes_test
