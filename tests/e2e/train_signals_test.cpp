// SPDX-License-Identifier: Apache-2.0
//
// Runs that are interrupted: they end soon, say how to go on, and lose nothing.
#include <csignal>
#include <cstdlib>
#include <random>
#include <regex>

#include "e2e/training_bench.h"
#include "support/effort.h"
#include "support/tone_corpus.h"

namespace myxtts::test::train_signals_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class TrainSignals : public TrainingBench {
 protected:
  const Words endless_ = {"--max-steps", "100000", "--epochs", "100000"};
};

TEST_F(TrainSignals, TermAndIntEndARunWithACheckpointAndTheCommandThatContinuesIt) {
  for (const auto& [signal, code] :
       {std::pair(SIGTERM, 143), std::pair(SIGINT, 130), std::pair(SIGHUP, 129)}) {
    const std::string run = "run" + std::to_string(code);
    StartedProgram program(command(run, endless_));
    // The first waits for its progress: what is looked at most stands first.
    ASSERT_TRUE(program.has_said(signal == SIGTERM ? "  ready " : "Model training starting now"));
    program.ends_within(300ms);
    program.send(signal);
    ASSERT_TRUE(program.ends_soon());
    const auto result = program.finish();
    EXPECT_EQ(result.exit_code, code) << result.err;
    const std::regex progress(R"(\nTraining: +\d+ %  [\d dhmins.]+ left  loss [\d.]+  )"
                              R"((validation [\d.]+  )?ready [\d.]+ %)");
    EXPECT_TRUE(signal != SIGTERM || std::regex_search(result.err, progress)) << result.err;
    EXPECT_TRUE(has(result.err, "interrupted at step ")) << result.err;
    EXPECT_TRUE(has(result.err, "--config " + path(run).string() + "/config.yaml --resume"))
        << result.err;
  }
}

TEST_F(TrainSignals, WhileTheCorpusIsLookedAtItEndsAtOnceWithoutATrace) {
  for (int i = 0; i < 4000; ++i) {  // one clip by many names
    const std::string name = "more" + std::to_string(i);
    fs::create_hard_link(path("corpus") / "wavs/clip00.wav",
                         path("corpus") / "wavs" / (name + ".wav"));
    add_line(path("corpus"), name, "sixteen letters or so");
  }
  StartedProgram program(command("run", endless_));
  while (!fs::exists(path("run") / "config.yaml") && !program.ends_within(1ms)) {
  }
  program.send(SIGINT);
  ASSERT_TRUE(program.ends_soon());
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_TRUE(has(result.err, "Interrupted; what was begun is removed.")) << result.err;
  EXPECT_FALSE(fs::exists(path("run")));
}

// As Ctrl-C ends `myxtts train ... | tee log`: the reader is gone before we have saved.
TEST_F(TrainSignals, AReaderOfItsOutputThatEndsTakesNoCheckpointWithIt) {
  std::string line = "timeout -s INT 6 " MYXTTS_PROGRAM;
  for (const auto& word : command("run", endless_)) line += " '" + word + "'";
  line += " 2>&1 | head -n 3 >/dev/null";
  ASSERT_EQ(std::system(line.c_str()), 0);
  // head has ended long before; the run goes on until the signal, and a while after it.
  const auto log = [this] { return contents_of(path("run") / "log.txt"); };
  for (int i = 0; i < 600 && !has(log(), "interrupted at step "); ++i) {
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(has(log(), "interrupted at step ")) << log();
  EXPECT_FALSE(checkpoints("run").empty());
}

// A service manager tells a rank, and the launcher, which passes it on.
TEST_F(TrainSignals, ASignalThatComesByTwoWaysIsOne) {
  StartedProgram program(command("run", endless_));
  ASSERT_TRUE(program.has_said("Model training starting now"));
  program.send(SIGTERM);
  program.send(SIGTERM);
  program.ends_within(20ms);
  program.send(SIGTERM);
  ASSERT_TRUE(program.ends_soon());
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_TRUE(has(result.err, "interrupted at step ")) << result.err;
}

// Whatever the moment: reading, waiting, measuring, saving.
TEST_F(TrainSignals, AtAnyMomentARunEndsSoonAndItsContinuationIsTheSame) {
  const Words settings{"--max-steps", "14", "--eval-steps", "3", "--save-steps", "2"};
  trained("whole", settings);
  std::mt19937 random(7);
  Words resumed = settings;
  resumed.emplace_back("--resume");
  int interrupted = 0;
  const int moments = repetitions(10);
  for (int moment = 0; moment < moments; ++moment) {
    StartedProgram program(command("run", resumed));
    if (!program.has_said("Waiting for data pipeline")) break;  // it has got to its end
    program.ends_within(std::chrono::milliseconds(random() % 250));
    program.send(SIGTERM);
    ASSERT_TRUE(program.ends_soon());
    const auto result = program.finish();
    ASSERT_TRUE(result.exit_code == 143 || result.exit_code == 0) << result.err;
    interrupted += result.exit_code == 143 ? 1 : 0;
    if (result.exit_code == 0) break;
  }
  EXPECT_GT(interrupted, 0);
  trained("run", resumed);
  EXPECT_EQ(curve("whole", "loss"), curve("run", "loss"));
  EXPECT_EQ(curve("whole", "loss", "validation"), curve("run", "loss", "validation"));
  EXPECT_EQ(latest("whole", "model.safetensors"), latest("run", "model.safetensors"));
  EXPECT_EQ(latest("whole", "optimiser.safetensors"), latest("run", "optimiser.safetensors"));
}

// A measurement that takes most of the time.
class TrainSignalsWhileMeasuring : public TrainingBench {
 protected:
  TrainSignalsWhileMeasuring() : TrainingBench(60) {}
};

TEST_F(TrainSignalsWhileMeasuring, AMeasurementThatWasInterruptedIsMadeAgain) {
  const Words settings{"--max-steps", "3", "--eval-steps", "1", "--val-fraction", "0.5"};
  trained("whole", settings);
  Words resumed = settings;
  resumed.emplace_back("--resume");
  for (const auto time : {30ms, 120ms, 250ms}) {
    StartedProgram program(command("run", resumed));
    if (!program.has_said("Model training starting now")) break;
    program.ends_within(time);
    program.send(SIGTERM);
    ASSERT_TRUE(program.ends_soon());
    if (program.finish().exit_code == 0) break;
  }
  trained("run", resumed);
  EXPECT_EQ(curve("whole", "loss", "validation"), curve("run", "loss", "validation"));
  EXPECT_EQ(curve("run", "loss", "validation").size(), 3U);
}

TEST_F(TrainSignals, StepsOfSeveralBatchesAreInterruptedBetweenTheirBatchesToo) {
  const Words settings{"--max-steps", "3", "--grad-accum", "3", "--batch-size", "2"};
  trained("whole", settings);
  Words resumed = settings;
  resumed.emplace_back("--resume");
  StartedProgram program(command("run", resumed));
  ASSERT_TRUE(program.has_said("Model training starting now"));
  program.ends_within(60ms);
  program.send(SIGTERM);
  ASSERT_TRUE(program.ends_soon());
  trained("run", resumed);
  EXPECT_EQ(curve("whole", "loss"), curve("run", "loss"));
  EXPECT_EQ(latest("whole", "model.safetensors"), latest("run", "model.safetensors"));
}

}  // namespace
}  // namespace myxtts::test::train_signals_test
