// SPDX-License-Identifier: Apache-2.0
//
// Several processes that train one model.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "e2e/training_bench.h"

namespace myxtts::test::train_ranks_test {
namespace {

class TrainRanks : public TrainingBench {
 protected:
  TrainRanks() : TrainingBench(24) {}

  // Nothing that is drawn by each rank on its own.
  ProgramResult run_ranks(int ranks, const std::string& run, Words more) const {
    more.insert(more.end(), {"--dropout", "0", "--rank-timeout", "60"});
    Words words;
    if (ranks > 1) words = {"launch", "--ranks", std::to_string(ranks), "--"};
    const Words training = command(run, more);
    words.insert(words.end(), training.begin(), training.end());
    return run_program(words);
  }

  ProgramResult trained_by(int ranks, const std::string& run, const Words& more) const {
    auto result = run_ranks(ranks, run, more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }
};

// Which wrong program would pass? One that forgets to divide by the targets of all ranks, sums
// nothing, or gives ranks the same clips, is off by far more.
TEST_F(TrainRanks, TrainAsOneProcessWithTheWholeBatch) {
  const Words usual{"--max-steps", "6", "--eval-steps", "3"};
  const auto with_batch = [&](const std::string& size, const Words& more = {}) {
    Words all = usual;
    all.insert(all.end(), {"--batch-size", size});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  trained_by(1, "one", with_batch("6"));
  trained_by(2, "two", with_batch("3"));
  trained_by(3, "three", with_batch("2", {"--shard-optimiser"}));
  for (const char* event : {"train", "validation"}) {
    const auto wanted = curve("one", "loss", event);
    for (const char* run : {"two", "three"}) {
      const auto found = curve(run, "loss", event);
      ASSERT_EQ(found.size(), wanted.size()) << run;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(found[i] / wanted[i], 1.0, 1e-5) << run << ' ' << event << ' ' << i;
      }
    }
  }
  EXPECT_NE(curve("one", "loss")[0], curve("one", "loss")[5]);
}

TEST_F(TrainRanks, PartsOfTheAveragesMakeTheSameCheckpoint) {
  const Words usual{"--max-steps", "3", "--batch-size", "2", "--moments", "8bit"};
  trained_by(2, "whole", usual);
  Words parts = usual;
  parts.push_back("--shard-optimiser");
  trained_by(2, "parts", parts);
  for (const char* file : {"model.safetensors", "optimiser.safetensors"}) {
    EXPECT_EQ(latest("whole", file), latest("parts", file)) << file;
  }
}

// 24 clips: two steps of 4, one of 6, then 10 clips are left for steps of 2.
TEST_F(TrainRanks, AnotherNumberOfRanksFinishesTheEpoch) {
  const Words usual{"--batch-size", "2", "--epochs", "1", "--val-fraction", "0"};
  const auto until = [&](const char* steps, bool resumes) {
    Words all = usual;
    all.insert(all.end(), {"--max-steps", steps});
    if (resumes) all.push_back("--resume");
    return all;
  };
  trained_by(2, "run", until("2", false));
  trained_by(3, "run", until("3", true));
  const auto last = trained_by(1, "run", until("1000", true));
  EXPECT_FALSE(has(last.err, "begins again")) << last.err;
  EXPECT_EQ(checkpoints("run").back(), "step-0000008");
}

TEST_F(TrainRanks, AnInterruptedRunGoesOnBitForBit) {
  const Words usual{"--batch-size", "3", "--save-steps", "2", "--shard-optimiser"};
  const auto until = [&](const char* steps, bool resumes) {
    Words all = usual;
    all.insert(all.end(), {"--max-steps", steps});
    if (resumes) all.push_back("--resume");
    return all;
  };
  trained_by(2, "straight", until("5", false));
  trained_by(2, "halved", until("2", false));
  trained_by(2, "halved", until("5", true));
  for (const char* file : {"model.safetensors", "optimiser.safetensors"}) {
    EXPECT_EQ(latest("straight", file), latest("halved", file)) << file;
  }
}

// On the lane of the sums, and on that of the trainer.
std::vector<double> starts_of(const nlohmann::json& trace, const std::string& name) {
  std::vector<double> starts;
  for (const auto& event : trace) {
    if (event.value("name", "") == name && event.contains("ts")) starts.push_back(event.at("ts"));
  }
  std::ranges::sort(starts);
  return starts;
}

// Gradients go while others are still being computed. In the first step nobody knows their order.
TEST_F(TrainRanks, SumsBeginBeforeTheBackwardPassEnds) {
  trained_by(2, "run", {"--max-steps", "5", "--batch-size", "2", "--trace", path("trace.json")});
  EXPECT_TRUE(std::filesystem::exists(path("trace.rank-1.json")));
  const auto trace = nlohmann::json::parse(contents_of(path("trace.json")));
  const auto sends = starts_of(trace, "send gradients");
  const auto waits = starts_of(trace, "wait for ranks");
  ASSERT_EQ(waits.size(), 5U);
  ASSERT_GE(sends.size(), 10U) << "tiny is more than one bucket";
  // A pass that ended before its first bucket went would send all of them at the end of the step,
  // right before it waits; ours sends the first one with most of the backward pass before it. By
  // the step's own length, and in the best of four: other work may hold up a step, not hurry it.
  double ahead = 0;
  for (std::size_t step = 1; step < waits.size(); ++step) {
    const auto first = std::ranges::upper_bound(sends, waits[step - 1]);
    ASSERT_NE(first, sends.end());
    ahead = std::max(ahead, (waits[step] - *first) / (waits[step] - waits[step - 1]));
  }
  EXPECT_GT(ahead, 0.2);
}

struct Refused {
  Words settings;
  std::string names;
};

TEST_F(TrainRanks, WhatRanksCannotDoIsSaidWithWhatToType) {
  for (const Refused& refused :
       {Refused{{"--mode", "auto"}, "--mode cpu"}, Refused{{"--stage", "dvae"}, "--stage is dvae"},
        Refused{{"--release-gradients", "on"}, "--release-gradients on"}}) {
    Words words = command("run", refused.settings);
    const auto result = run_program(words, {.environment = {"RANK=0", "WORLD_SIZE=1"}});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_TRUE(has(result.err, refused.names)) << result.err;
  }
}

TEST_F(TrainRanks, RanksThatDoNotComeAreNamed) {
  const auto result =
      run_program(command("run", {"--rank-timeout", "1"}),
                  {.environment = {"RANK=0", "WORLD_SIZE=3", "MASTER_ADDR=127.0.0.1",
                                   "MASTER_PORT=" + std::to_string(29'500 + ::getpid() % 2000)}});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_TRUE(has(result.err, "ranks 1, 2 did not come within 1 s")) << result.err;
}

}  // namespace
}  // namespace myxtts::test::train_ranks_test
