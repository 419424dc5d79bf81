// SPDX-License-Identifier: Apache-2.0
#include "session/run_report.h"

#include <gtest/gtest.h>

#include "support/captured_screen.h"
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
            "Training:  10 %  10 of 100  2.0/s  45 s left  epoch 3  loss 4.2500  lr 5e-06  8.0 "
            "clips/s  40 h/h  ready 50.0 %\n");
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
            "Training:  92 %  92 of 100  0.2/s  40 s left  epoch 3  loss 3.5000  lr 5e-06  0.8 "
            "clips/s  4 h/h  ready 50.0 %\n");
}

}  // namespace
}  // namespace myxtts::test::progress_observer_test
