// SPDX-License-Identifier: Apache-2.0
//
// train --mode auto: measures, chooses, keeps the choice, and trains as if nothing had been before.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "e2e/training_bench.h"
#include "support/one_sentence.h"

namespace myxtts::test::auto_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class TrainAuto : public TrainingBench {
 protected:
  nlohmann::json choice(const std::string& run) const {
    return nlohmann::json::parse(std::ifstream(path(run) / "auto.json"));
  }

  static Words words_of(const std::string& text) {
    std::istringstream stream(text);
    Words words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
  }

  // The bench gives each role one thread, so that one placement is possible; without the cache one
  // measurement is made.
  const Words one_{"--mode", "auto", "--no-cache-dataset", "--batch-size", "1"};
};

TEST_F(TrainAuto, TrainsTheSameAsTheModeItTakesAndLosesNoClip) {
  const Words settings{"--max-steps", "10", "--batch-size", "1"};
  Words measured = settings;
  measured.insert(measured.end(), {"--mode", "auto"});
  const auto result = trained("auto", measured);
  EXPECT_TRUE(has(result.out, "Placements\n")) << result.out;
  EXPECT_TRUE(has(result.out, "<- taken")) << result.out;
  EXPECT_TRUE(has(result.out, "not measured: it needs two GPUs")) << result.out;
  EXPECT_FALSE(fs::exists(path("auto") / "calibration"));

  const auto kept = choice("auto");
  Words direct = settings;
  for (const std::string& word : words_of(kept.at("choice").at("flags"))) direct.push_back(word);
  trained("direct", direct);
  EXPECT_EQ(curve("auto", "loss").size(), 10U);
  EXPECT_EQ(curve("auto", "loss"), curve("direct", "loss"));
  EXPECT_EQ(latest("auto", "model.safetensors"), latest("direct", "model.safetensors"));
  const auto ended = nlohmann::json::parse(latest("auto", "state.json"));
  const auto ended_directly = nlohmann::json::parse(latest("direct", "state.json"));
  for (const char* key : {"step", "epoch", "epoch_batches", "corpus", "batches"}) {
    EXPECT_EQ(ended.at(key), ended_directly.at(key)) << key;
  }
  const auto plan = nlohmann::json::parse(std::ifstream(path("auto") / "plan.json"));
  EXPECT_EQ(plan.at("mode"), kept.at("choice").at("mode"));
  EXPECT_EQ(plan.at("model").at("threads"), kept.at("choice").at("model_threads"));
}

TEST_F(TrainAuto, TheChoiceIsKeptWhileNothingChangesAndMadeAgainWhereSomethingDoes) {
  Words words = one_;
  words.insert(words.end(), {"--max-steps", "2"});
  const auto first = trained("run", words);
  EXPECT_TRUE(has(first.err, "measuring cpu 1 + 1 threads")) << first.err;

  words.back() = "3";
  words.emplace_back("--resume");
  const auto second = trained("run", words);
  EXPECT_FALSE(has(second.err, "measuring")) << second.err;
  EXPECT_TRUE(has(second.err, "cpu 1 + 1 threads was the fastest")) << second.err;

  // As the log of the first run told to type it.
  const auto third = run_program({"train", "--config", (path("run") / "config.yaml").string(),
                                  "--resume", "--max-steps", "4", "--grad-accum", "2"});
  EXPECT_EQ(third.exit_code, 0) << third.err;
  EXPECT_TRUE(has(third.err, "settings: train.grad_accum was 1 and is 2")) << third.err;
  EXPECT_TRUE(has(third.err, "measuring cpu 1 + 1 threads")) << third.err;
}

// What is fastest cannot be told before; what was kept can be written.
TEST_F(TrainAuto, TrainsWithRanksWhereTheseWereTheFastest) {
  Words words{"--mode", "auto", "--no-cache-dataset", "--batch-size", "2", "--max-steps", "1"};
  trained("measured", words);
  auto kept = choice("measured");
  kept.at("choice").update({{"data_threads", nullptr},
                            {"model_threads", nullptr},
                            {"ranks", {{"ranks", 2}, {"batch_size", 1}}}});
  fs::create_directories(path("auto"));
  std::ofstream(path("auto") / "auto.json") << kept;

  words.back() = "4";
  const auto result = trained("auto", words);
  EXPECT_TRUE(has(result.err, "cpu 2 ranks was the fastest")) << result.err;
  EXPECT_TRUE(has(result.err, "2 ranks train one model")) << result.err;
  trained("direct", {"--ranks", "2", "--batch-size", "1", "--max-steps", "4"});
  const auto losses = curve("auto", "loss");
  const auto directly = curve("direct", "loss");
  ASSERT_EQ(losses.size(), 4U);
  ASSERT_EQ(directly.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(losses[i], directly[i], 1e-3 * directly[i]);
}

// Every core is used here, so there is one placement with ranks where there are two cores.
TEST_F(TrainAuto, RanksAreMeasuredBesideOthersWhereNobodySetThreads) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core";
  const auto result =
      run_program({"profile", "--compare", "--device", "cpu", "--model-size", "tiny",
                   "--batch-size", "2", "--num-steps", "2", "--no-cache-dataset", "--train-data",
                   path("corpus").string(), "--json", path("table.json").string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(has(result.out, "cpu 2 ranks")) << result.out;
  EXPECT_FALSE(has(result.out, "parallel")) << result.out;
  const auto table = nlohmann::json::parse(std::ifstream(path("table.json"))).at("table");
  const auto ranks = std::ranges::find_if(table, [](const auto& line) {
    return line.at("flags") == "--device cpu --ranks 2 --batch-size 1";
  });
  ASSERT_NE(ranks, table.end());
  ASSERT_TRUE(ranks->contains("clips_per_second")) << ranks->dump();
  EXPECT_NEAR(ranks->at("step_seconds").get<double>(),
              2 / ranks->at("clips_per_second").get<double>(), 1e-9);
}

TEST_F(TrainAuto, AnInterruptionWhileMeasuringEndsTheRunAndTheMeasurement) {
  StartedProgram program(command("run", one_));
  ASSERT_TRUE(program.has_said("measuring cpu 1 + 1 threads"));
  program.ends_within(500ms);
  program.send(SIGINT);
  ASSERT_TRUE(program.ends_soon());
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_TRUE(has(result.err, "interrupted while placements were measured")) << result.err;
  EXPECT_FALSE(fs::exists(path("run") / "auto.json"));
  EXPECT_FALSE(fs::exists(path("run") / "calibration"));
}

TEST_F(TrainAuto, WherePlacementsCannotBeMeasuredTheTableSaysWhyAndTheRunEnds) {
  const Words machine{"MYXTTS_NVML_LIBRARY=" FAKE_NVML, "FAKE_NVML_NAMES=NVIDIA L4;NVIDIA L4",
                      "MYXTTS_CUDA_PLUGIN=" FAKE_CUDA_PLUGIN, "MYXTTS_CUDA_DRIVER=" FAKE_NVML,
                      "FAKE_NVML_ANCESTOR=10"};
  const Words words{"train", "--mode",           "auto",         "--model-size",
                    "tiny",  "--train-data",     path("corpus"), "--batch-size",
                    "2",     "--checkpoint-dir", path("run")};
  const auto result = run_program(words, {.standard_input = {}, .environment = machine});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  for (const char* name : {"single ", "split 0 ", "split 0:16 ", "dual 1 to 0 ", "dual 0 to 1 "}) {
    EXPECT_TRUE(has(result.out, name)) << name << "\n" << result.out;
  }
  EXPECT_TRUE(has(result.out, "not measured: The fake plugin has no streams.")) << result.out;
  EXPECT_TRUE(has(result.err, "No placement could be measured")) << result.err;
}

TEST_F(TrainAuto, IsRefusedWithAPlacementOfOnesOwnAndWhereRunsMustBeEqual) {
  for (const auto& [flag, value, words] :
       {std::tuple("--split-gpu", "0", "leave out --mode to have that, or --split-gpu"),
        std::tuple("--deterministic", "", "name a mode, as in --mode single")}) {
    Words all{"train", "--quiet", "--mode", "auto", "--train-data", path("corpus"), flag};
    if (*value != '\0') all.emplace_back(value);
    const auto result = run_program(all);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_TRUE(has(result.err, words)) << result.err;
    expect_one_sentence(result.err);
  }
}

TEST_F(TrainAuto, ADryRunChecksTheUsualPlacementAndSaysWhatWillBeMeasured) {
  Words words = one_;
  words.emplace_back("--dry-run");
  const auto result = trained("run", words);
  EXPECT_TRUE(has(result.out, "Device plan: cpu")) << result.out;
  EXPECT_TRUE(has(result.out, "--mode auto measures this placement and others")) << result.out;
  EXPECT_FALSE(fs::exists(path("run") / "auto.json"));
}

}  // namespace
}  // namespace myxtts::test::auto_test
