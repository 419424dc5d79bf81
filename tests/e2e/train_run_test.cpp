// SPDX-License-Identifier: Apache-2.0
//
// Whole training runs: what they leave, that they continue, and that nothing but the settings
// decides what is trained.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/message_text.h"
#include "config/model_json.h"
#include "e2e/training_bench.h"
#include "model/gpt_specs.h"
#include "model/tensor_spec.h"
#include "run/sealed_folder.h"
#include "run/training_state.h"
#include "support/one_sentence.h"

namespace myxtts::test::train_run_test {
namespace {

namespace fs = std::filesystem;

class TrainRun : public TrainingBench {};

TEST_F(TrainRun, SixStepsFromNothingLeaveAWholeRunDirectoryThatIsRefusedWithoutResume) {
  const auto result = trained("run");
  for (const char* file :
       {"config.yaml", "plan.json", "log.txt", "metrics.jsonl", "skipped.jsonl",
        "latest/config.json", "latest/model.safetensors", "latest/dvae.safetensors",
        "latest/vocab.json", "latest/optimiser.safetensors", "latest/state.json"}) {
    EXPECT_TRUE(fs::exists(path("run") / file)) << file;
  }
  const auto losses = curve("run", "loss");
  ASSERT_EQ(losses.size(), 6U);
  for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss));
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_EQ(curve("run", "step").back(), 6);
  EXPECT_TRUE(has(result.out, "6 steps, 1 to 6")) << result.out;

  // What it can do next, and how its stages did for those who ask: the log has that always.
  EXPECT_TRUE(has(result.out, "cannot speak: its dvae and decoder were not trained")) << result.out;
  EXPECT_TRUE(has(result.out,
                  "myxtts train --stages dvae,gpt,decoder --model-size tiny "
                  "--train-data "))
      << result.out;
  EXPECT_TRUE(has(result.out, " --batch-size 4 ")) << result.out;
  EXPECT_FALSE(has(result.out + result.err, "collator")) << result.out << result.err;
  EXPECT_TRUE(has(contents_of(path("run") / "log.txt"), "collator"));

  // The start is told in the words of the original, and in the log too.
  const std::string log = contents_of(path("run") / "log.txt");
  for (const char* words :
       {"Configuring CPU Mode", "CPU configuration completed successfully",
        "Intelligent GPU Pipeline: CPU Mode", "Model will be placed on cpu",
        "Creating model on device: cpu", "Smart Prefetching: Enabled",
        "buffer_size=", "Waiting for data pipeline to warm up", "Model training starting now",
        "Starting training", "cannot be heard until those parts are trained"}) {
    EXPECT_TRUE(has(result.err, words)) << words << "\n" << result.err;
    EXPECT_TRUE(has(log, words)) << words;
  }

  const auto again = train("run", {"--quiet"});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_TRUE(has(again.err, "--resume") && has(again.err, "--checkpoint-dir")) << again.err;
  expect_one_sentence(again.err);
  const auto checked = train("run", {"--quiet", "--dry-run"});
  EXPECT_EQ(checked.exit_code, 1) << checked.out;
  const std::string reason = again.err.substr(std::string("myxtts: ").size());
  EXPECT_TRUE(has(checked.out, "FAIL  run directory  " + reason)) << checked.out;
  const ModelConfig sizes = parse_model_config(contents_of(path("run") / "latest/config.json"), "");
  EXPECT_TRUE(has(checked.out, human_count(parameter_count(gpt_specs(sizes.gpt))) +
                                   " parameters to train in its gpt"))
      << checked.out;

  const std::string before = contents_of(path("run") / "config.yaml");
  const auto larger = train("run", {"--quiet", "--resume", "--model-size", "small"});
  EXPECT_EQ(larger.exit_code, 2) << larger.err;
  EXPECT_TRUE(has(larger.err, "--model-size small cannot be had with --resume")) << larger.err;
  EXPECT_TRUE(has(larger.err, "is tiny;")) << larger.err;
  expect_one_sentence(larger.err);
  EXPECT_EQ(contents_of(path("run") / "config.yaml"), before);
}

TEST_F(TrainRun, ASmallCorpusIsMeasuredTheBestModelIsKeptAndTheLastSamplesAreThere) {
  const auto result =
      trained("run", {"--val-fraction", "0.00001", "--eval-steps", "1", "--max-steps", "4", "--lr",
                      "0.05", "--keep-last", "1", "--samples", "1"});
  const auto losses = curve("run", "loss", "validation");
  ASSERT_EQ(losses.size(), 4U);
  const auto best = nlohmann::json::parse(contents_of(path("run") / "best" / "state.json"));
  EXPECT_EQ(best.at("validation_loss"), *std::ranges::min_element(losses));
  EXPECT_TRUE(has(result.err, (path("run") / "best").string() + " is the checkpoint of step "))
      << result.err;
  EXPECT_FALSE(has(result.err, "NO CLIPS")) << result.err;
  EXPECT_TRUE(has(result.err, "step 4: 1 sample is in ")) << result.err;
  for (const char* file : {"01.wav", "01.png", "01.txt", "01-original.wav"}) {
    EXPECT_GT(contents_of(path("run") / "samples/step-0000004" / file).size(), 5U) << file;
  }

  const auto blind = trained("blind", {"--val-fraction", "0", "--max-steps", "1", "--warmup-steps",
                                       "0", "--save-steps", "7", "--samples", "1"});
  EXPECT_TRUE(has(blind.err, "NO CLIPS ARE KEPT BACK TO MEASURE ON")) << blind.err;
  EXPECT_TRUE(has(blind.err, "Give --save-steps 1")) << blind.err;
  EXPECT_FALSE(fs::exists(fs::symlink_status(path("blind") / "best")));
  EXPECT_FALSE(has(blind.err + blind.out, "best is")) << blind.err;
  EXPECT_TRUE(fs::exists(path("blind") / "samples/step-0000001/01.wav"));
}

// Such a run trained on every clip that its share did not meet: here on all.
TEST_F(TrainRun, ARunOfAnOlderProgramGoesOnWithItsOwnSplit) {
  trained("run", {"--val-fraction", "0", "--max-steps", "2"});
  const fs::path checkpoint = fs::canonical(path("run") / "latest");
  TrainingState state = read_training_state(checkpoint / "state.json");
  const std::string word = " held_back=clips";
  ASSERT_TRUE(state.rows.ends_with(word)) << state.rows;
  state.rows.resize(state.rows.size() - word.size());
  write_training_state(checkpoint / "state.json", state);
  fs::remove(checkpoint / kChecksums);
  seal_folder({.folder = checkpoint, .step = 2});
  const auto result = trained("run", {"--val-fraction", "0.00001", "--max-steps", "3", "--resume"});
  EXPECT_TRUE(has(result.err, "continuing at step 2")) << result.err;
  EXPECT_FALSE(has(result.err, "Since the checkpoint of")) << result.err;
  EXPECT_TRUE(has(result.err, "NO CLIPS ARE KEPT BACK")) << result.err;
}

TEST_F(TrainRun, OutputThatIsPipedHoldsNoControlCharacters) {
  const auto result = trained("run", {"--max-steps", "40", "--verbose"});
  EXPECT_TRUE(has(result.err, "collator")) << "how its stages did is for those who ask";
  for (const char control : {'\r', '\x1b', '\b'}) {
    EXPECT_EQ(result.err.find(control), std::string::npos);
    EXPECT_EQ(result.out.find(control), std::string::npos);
  }
}

TEST_F(TrainRun, ARunThatIsResumedByFlagsByItsConfigYamlAndByItsNameEndsWithTheSameBits) {
  trained("whole", {"--max-steps", "9"});
  trained("halves", {"--max-steps", "5"});
  const auto result = trained("halves", {"--max-steps", "7", "--resume"});
  EXPECT_TRUE(has(result.err, "continuing at step 5")) << result.err;
  for (const Words& words :
       {Words{"train", "--config", path("halves") / "config.yaml", "--resume", "--max-steps", "8"},
        Words{"train", "--resume", path("halves") / "latest", "--max-steps", "9"}}) {
    const auto last = run_program(words);
    EXPECT_EQ(last.exit_code, 0) << last.err;
  }
  const auto ended = run_program({"train", "--resume", path("halves")});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(has(ended.out, "nothing was left to train: the run is at its end, step 9"))
      << ended.out;
  EXPECT_EQ(curve("whole", "loss"), curve("halves", "loss"));
  EXPECT_EQ(curve("whole", "loss", "validation").back(),
            curve("halves", "loss", "validation").back());
  for (const char* file : {"model.safetensors", "optimiser.safetensors", "vocab.json"}) {
    EXPECT_EQ(latest("whole", file), latest("halves", file)) << file;
  }
}

// 16 clips: 4, then 6 in three steps of 2, then 6 in one step of 6; and a second epoch of 3 steps.
TEST_F(TrainRun, OtherBatchSizesGoOnWithTheRestOfTheEpochAndTheRunEndsWithItsLast) {
  const auto part = [this](const char* batch_size, const char* steps) {
    return trained("run", {"--val-fraction", "0", "--epochs", "2", "--resume", "--batch-size",
                           batch_size, "--max-steps", steps});
  };
  const auto state = [this] { return nlohmann::json::parse(latest("run", "state.json")); };
  part("4", "1");
  const auto order = state().at("rest").at("order");
  EXPECT_TRUE(order.is_object()) << order;
  EXPECT_EQ(state().at("rest").at("visits"), 4);
  const auto second = part("2", "4");
  EXPECT_TRUE(has(second.err, "Epoch 1 goes on in its order behind the 4 clips")) << second.err;
  EXPECT_EQ(state().at("division"),
            (nlohmann::json{{"step", 1}, {"epoch", 0}, {"visits", 4}, {"order", order}}));
  EXPECT_EQ(state().at("rest"), (nlohmann::json{{"visits", 10}, {"order", order}}));
  const auto third = part("6", "100");
  EXPECT_TRUE(
      has(third.err, "--epochs 2 ends the run after 8 steps, before the 100 of --max-steps"))
      << third.err;
  EXPECT_EQ(curve("run", "epoch"), (std::vector<double>{0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(state().at("step"), 8);
  EXPECT_EQ(state().at("epoch"), 2);
}

TEST_F(TrainRun, ARunGoesOnWithoutTheModelThatItBeganWith) {
  trained("first", {"--max-steps", "1"});
  std::filesystem::copy(std::filesystem::canonical(path("first") / "latest"), path("model"),
                        std::filesystem::copy_options::recursive);
  // A large file that training leaves alone is its owner's to change afterwards, and the run's own.
  const auto voices = path("model") / "voices.safetensors";
  std::ofstream(voices) << "voices";
  std::filesystem::resize_file(voices, 17 << 20);
  trained("run", {"--init", path("model"), "--max-steps", "1"});
  EXPECT_EQ(std::filesystem::hard_link_count(voices), 1U) << "no checkpoint shares it";
  EXPECT_EQ(std::filesystem::hard_link_count(path("run") / "latest" / "voices.safetensors"), 2U)
      << "checkpoints of one run do, with its start";
  std::fstream(voices, std::ios::in | std::ios::out) << "others";
  EXPECT_TRUE(latest("run", "voices.safetensors").starts_with("voices"));
  std::filesystem::remove_all(path("model"));
  trained("run", {"--init", path("model"), "--max-steps", "2", "--resume"});
  EXPECT_EQ(curve("run", "loss").size(), 2U);
}

TEST_F(TrainRun, NeitherThreadsNorBuffersNorTheCacheChangeWhatIsTrained) {
  trained("plain", {"--max-steps", "8"});
  trained("other", {"--max-steps", "8", "--num-workers", "3", "--buffer-size", "1",
                    "--prefetch-buffer-size", "5", "--data-threads", "2"});
  trained("cold", {"--max-steps", "8", "--cache-dataset", "--cache-dir", path("cache")});
  const auto warm =
      trained("warm", {"--max-steps", "8", "--cache-dataset", "--cache-dir", path("cache")});
  EXPECT_TRUE(has(warm.err, "holds 16 clips")) << warm.err;
  for (const char* run : {"other", "cold", "warm"}) {
    EXPECT_EQ(curve("plain", "loss"), curve(run, "loss")) << run;
    EXPECT_EQ(latest("plain", "model.safetensors"), latest(run, "model.safetensors")) << run;
  }
}

TEST_F(TrainRun, ACheckpointIsAModelThatIsMeasuredAndFineTunedAndBringsItsOwnVocabulary) {
  trained("first", {"--max-steps", "2"});
  const std::string model = path("first") / "latest";
  const auto second = trained("second", {"--max-steps", "2", "--init", path("first")});
  EXPECT_TRUE(has(second.err,
                  "--init " + path("first").string() + " means " + path("first").string() + "/"))
      << second.err;
  EXPECT_TRUE(has(second.err, " were never trained, and this run does not train them, so what you"))
      << second.err;
  EXPECT_TRUE(has(second.out, "latest cannot speak: its dvae and decoder were not trained"))
      << second.out;
  EXPECT_EQ(latest("second", "vocab.json"), latest("first", "vocab.json"));
  EXPECT_EQ(latest("second", "dvae.safetensors"), latest("first", "dvae.safetensors"));
  const auto wrong = train("third", {"--quiet", "--init", model, "--model-size", "small"});
  EXPECT_EQ(wrong.exit_code, 2) << wrong.err;
  EXPECT_TRUE(has(wrong.err, "--model-size")) << wrong.err;
  const auto result = run_program({"evaluate", "--quiet", "--device", "cpu", "--model", model,
                                   "--data", path("corpus"), "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(has(result.out, "\"clips\":16")) << result.out;
}

TEST_F(TrainRun, TwoProcessesOnOneRunDirectoryTheSecondIsRefused) {
  StartedProgram first(command("run", {"--max-steps", "100000", "--epochs", "100000"}));
  ASSERT_TRUE(first.has_said("Model training starting now"));
  const auto second = train("run", {"--quiet", "--resume"});
  EXPECT_EQ(second.exit_code, 3) << second.err;
  EXPECT_TRUE(has(second.err, "in use by process")) << second.err;
  first.send(SIGTERM);
  EXPECT_EQ(first.finish().exit_code, 143);
}

}  // namespace
}  // namespace myxtts::test::train_run_test
