// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are threads of one process, fed by one data device.
#include <csignal>
#include <filesystem>
#include <regex>

#include "e2e/training_bench.h"

namespace myxtts::test::train_rank_threads_test {
namespace {

namespace fs = std::filesystem;

class TrainRankThreads : public TrainingBench {
 protected:
  TrainRankThreads() : TrainingBench(24) {}

  static Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Words in_threads(const std::string& run, const Words& more, int ranks = 2) const {
    return command(run, with(more, {"--ranks", std::to_string(ranks), "--rank-timeout", "60"}));
  }

  ProgramResult trained_in_threads(const std::string& run, const Words& more, int ranks = 2) const {
    auto result = run_program(in_threads(run, more, ranks));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }

  void trained_in_processes(const std::string& run, const Words& more, int ranks = 2) const {
    const auto result = run_program(with({"launch", "--ranks", std::to_string(ranks), "--"},
                                         command(run, with(more, {"--rank-timeout", "60"}))));
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }

  void expect_one_voice(const std::string& run, const ProgramResult& result) const {
    const std::string starts = "Model training starting now";
    const auto first = result.err.find(starts);
    ASSERT_NE(first, std::string::npos) << result.err;
    EXPECT_EQ(result.err.find(starts, first + 1), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(path(run) / "ranks"));
  }

  void expect_same_training(const std::string& run, const std::string& other) const {
    for (const char* event : {"train", "validation"}) {
      EXPECT_EQ(curve(run, "loss", event), curve(other, "loss", event)) << event;
    }
    EXPECT_EQ(curve(run, "grad_norm"), curve(other, "grad_norm"));
    for (const char* file : {"model.safetensors", "optimiser.safetensors", "dvae.safetensors"}) {
      EXPECT_TRUE(latest(run, file) == latest(other, file)) << file;
    }
  }
};

// A rank has its share of the host's memory: eight of them must fit beside one another.
TEST_F(TrainRankThreads, ADryRunPlansWithTheShareOfARank) {
  const auto available = [&](const Words& words) {
    const auto result = run_program(words);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    std::smatch found;
    const std::regex figure(R"(([\d,.]+) (MB|GB) of memory available)");
    if (!std::regex_search(result.out, found, figure)) return -1.0;
    const std::string digits = std::regex_replace(found.str(1), std::regex(","), "");
    return std::stod(digits) * (found.str(2) == "GB" ? 1000 : 1);
  };
  const Words looked{"--dry-run", "--quiet", "--cache-dir", path("looked")};
  const double alone = available(command("run", looked));
  ASSERT_GT(alone, 0);
  EXPECT_LT(available(in_threads("run", looked, 4)), 0.4 * alone);
  Words launched{"launch", "--ranks", "2", "--"};
  EXPECT_LT(available(with(launched, command("run", looked))), 0.7 * alone);
}

// Not a bit differs: neither what a rank is fed, nor what it draws, nor how ranks are summed.
TEST_F(TrainRankThreads, TrainAsProcessesDoBitForBitAndRankZeroAloneWritesAndSpeaks) {
  const Words steps{"--max-steps", "5", "--eval-steps", "2", "--batch-size", "3"};
  for (const char* dropout : {"0", "0.2"}) {
    const Words settings = with(steps, {"--dropout", dropout});
    const std::string threads = std::string("threads-") + dropout;
    const std::string processes = std::string("processes-") + dropout;
    const auto result = trained_in_threads(threads, settings);
    expect_one_voice(threads, result);
    trained_in_processes(processes, settings);
    expect_same_training(threads, processes);
    EXPECT_EQ(curve(threads, "loss").size(), 5U);
    EXPECT_EQ(curve(threads, "loss", "validation").size(), 3U);
  }
  EXPECT_NE(curve("threads-0", "loss"), curve("threads-0.2", "loss"));
}

TEST_F(TrainRankThreads, ThreeTrainAsThreeProcessesWithACacheAndPartsOfTheAverages) {
  const Words settings{"--max-steps",  "5", "--batch-size",      "2",
                       "--grad-accum", "2", "--shard-optimiser", "--cache-dataset",
                       "--epochs",     "3"};
  trained_in_threads("threads", settings, 3);
  trained_in_processes("processes", settings, 3);
  expect_same_training("threads", "processes");
}

// Killed by nobody: asked to end while it trains, it saves, says how to go on, and goes on there.
TEST_F(TrainRankThreads, ASignalEndsAllWithACheckpointThatGoesOnBitForBit) {
  const Words settings{"--max-steps", "12", "--batch-size", "2", "--eval-steps", "4"};
  trained_in_threads("whole", settings);
  StartedProgram program(in_threads("run", settings));
  ASSERT_TRUE(program.has_said("Model training starting now"));
  program.send(SIGINT);
  ASSERT_TRUE(program.ends_soon());
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_TRUE(
      has(result.err, "myxtts train --config " + path("run").string() + "/config.yaml --resume"))
      << result.err;
  EXPECT_FALSE(has(result.err, "launch")) << result.err;
  const auto resumed =
      run_program({"train", "--config", path("run").string() + "/config.yaml", "--resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_same_training("run", "whole");
}

// Resumed by processes, and the other way round: a checkpoint has no rank in it.
TEST_F(TrainRankThreads, ThreadsAndProcessesGoOnFromOneAnother) {
  const auto until = [](const char* steps) {
    return Words{"--max-steps", steps, "--batch-size", "3", "--epochs", "9", "--eval-steps", "2"};
  };
  trained_in_threads("whole", until("6"));
  trained_in_threads("run", until("2"));
  trained_in_processes("run", with(until("4"), {"--resume"}));
  trained_in_threads("run", with(until("6"), {"--resume"}));
  expect_same_training("run", "whole");
}

// Files go while it trains: what the one data device meets ends every rank, with that cause alone.
TEST_F(TrainRankThreads, WhatTheDataDeviceMeetsEndsAllRanksWithItsCause) {
  StartedProgram program(
      in_threads("run", {"--max-steps", "100000", "--epochs", "100000", "--batch-size", "2",
                         "--val-fraction", "0", "--max-skipped", "0.1", "--buffer-size", "1"}));
  ASSERT_TRUE(program.has_said("Model training starting now"));
  for (const auto& entry : fs::recursive_directory_iterator(path("corpus"))) {
    if (entry.path().extension() == ".wav") fs::resize_file(entry.path(), 40);
  }
  ASSERT_TRUE(program.ends_soon());
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_TRUE(has(result.err, "clips cannot be used")) << result.err;
  EXPECT_FALSE(has(result.err, "The run ends, as")) << result.err;
}

TEST_F(TrainRankThreads, WhatCannotBeHadIsSaidWithWhatToType) {
  struct Refused {
    Words settings;
    std::string names;
    std::vector<std::string> environment = {};
  };
  for (const Refused& refused :
       {Refused{{"--mode", "auto"}, "--mode cpu"}, Refused{{"--stage", "dvae"}, "--stage is dvae"},
        Refused{{"--gpus", "0,1"}, "leave out --ranks"},
        Refused{{}, "without the launcher", {"RANK=0", "WORLD_SIZE=1"}}}) {
    const auto result =
        run_program(in_threads("run", refused.settings), {.environment = refused.environment});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_TRUE(has(result.err, refused.names)) << result.err;
  }
}

}  // namespace
}  // namespace myxtts::test::train_rank_threads_test
