// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "e2e/training_bench.h"
#include "support/one_sentence.h"

namespace myxtts::test::demo_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A synthesiser that speaks tones, so that the test needs none; it takes espeak-ng's flags.
constexpr const char* kSynthesiser = R"(#!/usr/bin/env python3
import math, struct, sys, wave
out, text = sys.argv[sys.argv.index("-w") + 1], sys.argv[-1]
rate, count = 22050, 22050 * len(text) // 15
with wave.open(out, "wb") as file:
    file.setnchannels(1); file.setsampwidth(2); file.setframerate(rate)
    pitch = 100 + sum(text.encode()) % 200
    file.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(pitch * i / 3500))) for i in range(count)))
)";

class Demo : public testing::Test {
 protected:
  Demo() {
    fs::create_directory(folder_ / "bin");
    write_text(folder_ / "bin/espeak-ng", kSynthesiser);
    fs::permissions(folder_ / "bin/espeak-ng", fs::perms::owner_all);
  }

  static void write_text(const fs::path& path, const std::string& text);

  Words command(const std::string& seconds) const {
    return {"demo", "--out", folder_ / "demo", "--seconds", seconds, "--clips", "24"};
  }
  ProgramInput environment() const {
    return {.standard_input = {},
            .environment = {"PATH=" + (folder_ / "bin").string() + ":" + std::getenv("PATH")}};
  }

  TemporaryFolder folder_;
};

void Demo::write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST_F(Demo, TrainsIsInterruptedGoesOnAndTellsWhatItLearnt) {
  const auto result = run_program(command("6"), environment());
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  for (const char* words :
       {"$ myxtts train --model-size tiny", "--max-minutes 0.5",
        "That was on purpose: SIGTERM after", "--resume",
        "guessing blindly among all of them      5.553", "knowing how frequent each one is",
        "this run, on clips it never saw", "There is nothing to export", "For a voice of your own",
        "myxtts pull xtts-v2"}) {
    EXPECT_TRUE(has(result.out, words)) << words << "\n" << result.out;
  }
  EXPECT_TRUE(has(result.err, "interrupted at step")) << result.err;
  EXPECT_TRUE(has(result.err, "continuing at step")) << result.err;
  EXPECT_TRUE(fs::exists(folder_ / "demo/run/latest/model.safetensors"));
}

TEST_F(Demo, CtrlCLeavesARunThatCanBeResumed) {
  StartedProgram program(command("600"), environment());
  ASSERT_TRUE(program.has_said("Model training starting now"));
  program.ends_within(500ms);
  program.send(SIGINT);
  ASSERT_TRUE(program.ends_soon());
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_TRUE(has(result.out, "config.yaml --resume")) << result.out;
  const auto resumed = run_program(
      {"train", "--config", folder_ / "demo/run/config.yaml", "--resume", "--max-steps", "1"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST_F(Demo, CtrlCBeforeAnythingIsTrainedLeavesNothingBehindAndSaysSo) {
  StartedProgram program(command("600"), environment());
  while (!fs::exists(folder_ / "demo/corpus/wavs/demo-001.wav") && !program.ends_within(10ms)) {
  }
  program.send(SIGINT);
  ASSERT_TRUE(program.ends_soon());
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_TRUE(has(result.out, "Interrupted before anything was trained, and ")) << result.out;
  EXPECT_FALSE(fs::exists(folder_ / "demo"));
}

TEST_F(Demo, WithoutASynthesiserItSaysWhatToInstall) {
  const auto result =
      run_program(command("6"), {.standard_input = {}, .environment = {"PATH=/nowhere"}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(has(result.err, "apt-get install -y espeak-ng")) << result.err;
  expect_one_sentence(result.err);
}

TEST_F(Demo, AFolderThatIsThereIsLeftAlone) {
  fs::create_directory(folder_ / "demo");
  const auto result = run_program(command("6"), environment());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(has(result.err, "is there already")) << result.err;
}

}  // namespace
}  // namespace myxtts::test::demo_test
