// SPDX-License-Identifier: Apache-2.0
#include "session/run_report.h"

#include <regex>

#include <gtest/gtest.h>

#include "support/captured_screen.h"
#include "support/environment.h"
#include "support/fake_clock.h"

namespace myxtts::test::progress_observer_test {
namespace {

using namespace std::chrono_literals;

constexpr ScreenAbilities kPlain{.terminal = false, .colours = false, .progress = true};

StepReport step_of(std::int64_t step, double loss) {
  return {.numbers = {.step = step, .loss = loss},
          .position = {.epoch = 2, .step = 0},
          .clips = {1, 2, 3, 4},
          .audio_seconds = 20,
          .learning_rate = 5e-6};
}

PipelineReading half_ready() {
  PipelineReading reading;
  reading.readiness = {.steps = 10, .ready = 5};
  return reading;
}

TEST(ProgressObserver, TellsStepEpochLossRateSpeedAndReadiness) {
  CapturedScreen captured(0);
  Screen screen(captured.file(), kPlain);
  FakeClock clock;
  ProgressObserver observer({}, {.first_step = 0, .last_step = 100, .meters = half_ready}, screen,
                            clock);
  for (int step = 1; step < 10; ++step) observer.stepped(step_of(step, 9.0));
  clock.advance(5s);
  observer.stepped(step_of(10, 4.25));
  EXPECT_EQ(captured.take(),
            "Training:  10 %  45 s left  loss 4.2500  ready 50 %  2.0/s  10 of 100  epoch 3\n"
            "    lr 5e-06  8.0 clips/s  40 hours of speech an hour\n");
}

TEST(ProgressObserver, RatesAreThoseSinceTheLastLineAndOfThisProcess) {
  CapturedScreen captured(0);
  Screen screen(captured.file(), kPlain);
  FakeClock clock;
  ProgressObserver observer({}, {.first_step = 90, .last_step = 100, .meters = half_ready}, screen,
                            clock);
  clock.advance(5s);
  observer.stepped(step_of(91, 4.0));
  captured.take();
  clock.advance(5s);
  observer.stepped(step_of(92, 3.5));
  EXPECT_EQ(captured.take(),
            "Training:  92 %  40 s left  loss 3.5000  ready 50 %  0.2/s  92 of 100  epoch 3\n"
            "    lr 5e-06  0.8 clips/s  4 hours of speech an hour\n");
}

// What one look at a run on the cards of a stand-in driver shows.
std::string shown_on(const DevicePlan& plan, const ScreenAbilities& abilities = kPlain) {
  const Environment machine{{"MYXTTS_NVML_LIBRARY", FAKE_NVML},
                            {"FAKE_NVML_NAMES", "NVIDIA H200;NVIDIA L4"}};
  CapturedScreen captured(abilities.terminal ? 80 : 0);
  Screen screen(captured.file(), abilities);
  FakeClock clock;
  const auto memory = [](Role role) -> std::int64_t {
    return role == Role::Data ? 1'200'000'000 : 19'600'000'000;
  };
  ProgressObserver observer(plan, {.last_step = 100, .meters = half_ready, .memory = memory},
                            screen, clock);
  clock.advance(5s);
  observer.stepped(step_of(1, 4.25));
  return captured.take();
}

DevicePlan plan_of(Mode mode, int data, int model) {
  const Environment machine{{"FAKE_NVML_NAMES", "NVIDIA H200;NVIDIA L4"}};
  const auto gpus = discover_gpus(FAKE_NVML).gpus;
  const auto role = [&gpus](int number) {
    const GpuInfo& gpu = gpus.at(static_cast<std::size_t>(number));
    return RolePlan{.gpu = PlannedGpu{.physical = number, .listed = number, .uuid = gpu.uuid}};
  };
  return {.mode = mode, .data = role(data), .model = role(model)};
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(ProgressObserver, TwoGpusAreBothShownWithUseAndMemory) {
  const std::string shown = shown_on(plan_of(Mode::Dual, 1, 0));
  for (const char* role : {"data GPU 1: ", "model GPU 0: "}) {
    const auto at = shown.find(role);
    ASSERT_NE(at, std::string::npos) << shown;
    const std::string figure = shown.substr(at, shown.find("  ", at) - at);
    EXPECT_TRUE(has(figure, " % ") && has(figure, "B")) << figure;
  }
}

TEST(ProgressObserver, BothGpusFitIntoALineOfEightyColumns) {
  const ScreenAbilities terminal{.terminal = true, .colours = false};
  const std::string two = shown_on(plan_of(Mode::Dual, 1, 0), terminal);
  EXPECT_TRUE(std::regex_search(two, std::regex(R"(ready 50 %  GPU \d+/\d+ %  [\d.]+/[\d.]+ GB)")))
      << two;
  const std::string split = shown_on(plan_of(Mode::Split, 0, 0), terminal);
  EXPECT_TRUE(std::regex_search(split, std::regex(R"(ready 50 %  GPU \d+ %  1\.2/20 GB)")))
      << split;
}

TEST(ProgressObserver, ALineOfEightyColumnsHasLossValidationTimeSpeedReadyAndTheCurve) {
  for (const bool unicode : {true, false}) {
    CapturedScreen captured(80);
    Screen screen(captured.file(), {.terminal = true, .colours = false, .unicode = unicode});
    FakeClock clock;
    ProgressObserver observer({}, {.last_step = 1000, .meters = half_ready}, screen, clock);
    for (int step = 1; step < 400; ++step) observer.stepped(step_of(step, 9.0 - step / 100.0));
    observer.evaluated({.step = 399, .loss = 4.123});
    clock.advance(150s);
    observer.stepped(step_of(400, 5.0));
    const std::string line = captured.take();
    const std::string figures =
        "Training:  40 %  3 min 45 s left  loss 5  val 4.12  ready 50 %  2.7/s  ";
    EXPECT_TRUE(has(line, figures + (unicode ? "█" : "#"))) << line;
    EXPECT_TRUE(line.ends_with(unicode ? "▁" : "_")) << line;
  }
}

TEST(ProgressObserver, ASplitGpuShowsItsUseAndTheMemoryOfBothRoles) {
  const std::string shown = shown_on(plan_of(Mode::Split, 0, 0));
  EXPECT_TRUE(has(shown, "GPU 0: ")) << shown;
  EXPECT_TRUE(has(shown, "data: 1.2 GB  model: 19.6 GB") ||
              has(shown, "data: 1.2 GB\n    model: 19.6 GB"))
      << shown;
}

TEST(ProgressObserver, ABatchThatWasLateIsNeverRoundedAway) {
  CapturedScreen captured(0);
  Screen screen(captured.file(), kPlain);
  FakeClock clock;
  const auto nearly = [] {
    PipelineReading reading;
    reading.readiness = {.steps = 100'000, .ready = 99'999};
    return reading;
  };
  ProgressObserver observer({}, {.last_step = 100, .meters = nearly}, screen, clock);
  clock.advance(5s);
  observer.stepped(step_of(1, 4.25));
  EXPECT_TRUE(has(captured.take(), "ready 99.9 %"));
}

}  // namespace
}  // namespace myxtts::test::progress_observer_test
