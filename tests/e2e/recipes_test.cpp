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
  // By its name alone, wherever the program was started.
  const auto named = run_program({"config", "--config", "configs/one-voice-from-nothing"});
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_TRUE(has(named.err, "is the recipe ")) << named.err;
  EXPECT_TRUE(has(named.out, "stages: \"dvae,gpt,decoder\"")) << named.out;
}

TEST_F(Recipes, FineTuningWithoutAModelIsRefusedWithWhatToType) {
  for (const char* recipe : {"fine-tune-public.yaml", "persian.yaml"}) {
    const auto result =
        run_program({"train", "--quiet", "--device", "cpu", "--config", recipes() / recipe,
                     "--train-data", path("corpus"), "--checkpoint-dir", path("run")});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_TRUE(has(result.err, "myxtts pull xtts-v2") && has(result.err, "--init xtts-v2"))
        << result.err;
    const std::string flag = "use --config ";
    const auto at = result.err.find(flag) + flag.size();
    const fs::path named = result.err.substr(at, result.err.find(".yaml", at) + 5 - at);
    EXPECT_TRUE(fs::exists(named)) << result.err;
    EXPECT_FALSE(fs::exists(path("run")));
  }
  const auto checked = run_program({"train", "--dry-run", "--quiet", "--device", "cpu", "--config",
                                    recipes() / "fine-tune-public.yaml", "--train-data",
                                    path("corpus"), "--checkpoint-dir", path("run")});
  EXPECT_EQ(checked.exit_code, 1) << checked.err;
  const auto said = checked.out.find("This recipe trains a model further");
  EXPECT_NE(said, std::string::npos) << checked.out;
  EXPECT_EQ(checked.out.find("This recipe", said + 1), std::string::npos) << checked.out;
  EXPECT_TRUE(has(checked.out, "PASS  corpus")) << checked.out;
  EXPECT_FALSE(fs::exists(path("run")));
}

TEST_F(Recipes, StepsFollowTheAmountOfSpeechAndAreToldForEveryStage) {
  const auto result =
      run_program({"train", "--dry-run", "--quiet", "--device", "cpu", "--config",
                   recipes() / "one-voice-from-nothing.yaml", "--model-size", "tiny",
                   "--train-data", path("corpus"), "--checkpoint-dir", path("run")});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  for (const char* words :
       {"Stage 1 of 3: dvae", "Stage 3 of 3: decoder", "--stage-budget lets "}) {
    EXPECT_TRUE(has(result.out, words)) << words << "\n" << result.out;
  }
  EXPECT_FALSE(has(result.out, "lets 6,000 run")) << "that is for an hour\n" << result.out;
  EXPECT_TRUE(has(result.out, "all that there are to train on, in place of 32")) << result.out;
  EXPECT_FALSE(has(result.out, "WARN  batch")) << result.out;
  EXPECT_FALSE(has(result.out, "WARN  warm-up")) << result.out;
  EXPECT_FALSE(has(result.out, "WARN  measuring")) << result.out;
}

TEST_F(Recipes, OneVoiceFromNothingMakesAModelInAFewSteps) {
  const auto result =
      run_program({"train", "--config", recipes() / "one-voice-from-nothing.yaml", "--train-data",
                   path("corpus"), "--checkpoint-dir", path("run"), "--device", "cpu",
                   "--model-size", "tiny", "--batch-size", "2", "--stage-budget",
                   "dvae=2,gpt=2,decoder=1", "--samples", "0", "--val-fraction", "0.2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* file : {"config.json", "model.safetensors", "dvae.safetensors", "vocab.json"}) {
    EXPECT_FALSE(latest("run", file).empty()) << file;
  }
}

}  // namespace
}  // namespace myxtts::test::recipes_test
