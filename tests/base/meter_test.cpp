// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace myxtts::meter_test {
namespace {

using namespace std::chrono_literals;
using test::FakeClock;

TEST(LoadMeter, TellsWhereTheTimeWent) {
  FakeClock clock;
  LoadMeter meter(clock);
  clock.advance(1s);
  {
    const auto scope = meter.waiting_for_input();
    clock.advance(2s);
  }
  {
    const auto scope = meter.busy();
    clock.advance(5s);
  }
  {
    const auto scope = meter.waiting_for_output();
    clock.advance(3s);
  }
  const auto reading = meter.read();
  EXPECT_EQ(reading.other, 1s);
  EXPECT_EQ(reading.waiting_for_input, 2s);
  EXPECT_EQ(reading.busy, 5s);
  EXPECT_EQ(reading.waiting_for_output, 3s);
  EXPECT_DOUBLE_EQ(reading.busy_share(), 5.0 / 11.0);
}

TEST(LoadMeter, AReadingIncludesTheOpenScope) {
  FakeClock clock;
  LoadMeter meter(clock);
  const auto scope = meter.busy();
  clock.advance(4s);
  EXPECT_EQ(meter.read().busy, 4s);
  clock.advance(1s);
  EXPECT_EQ(meter.read().busy, 5s);
}

TEST(LoadMeter, AnInnerScopeCountsAndTheOuterGoesOnAfterIt) {
  FakeClock clock;
  LoadMeter meter(clock);
  const auto outer = meter.busy();
  clock.advance(1s);
  {
    const auto inner = meter.waiting_for_output();
    clock.advance(10s);
  }
  clock.advance(1s);
  EXPECT_EQ(meter.read().busy, 2s);
  EXPECT_EQ(meter.read().waiting_for_output, 10s);
}

TEST(LoadMeter, ReadingsSubtractAndAdd) {
  FakeClock clock;
  LoadMeter meter(clock);
  const auto scope = meter.busy();
  clock.advance(4s);
  const auto before = meter.read();
  clock.advance(3s);
  const auto after = meter.read();
  EXPECT_EQ((after - before).busy, 3s);
  EXPECT_EQ((after + before).busy, 11s);
  EXPECT_EQ(LoadReading{}.busy_share(), 0);
}

TEST(LoadMeter, AnotherThreadNeverSeesTimeRunBackwardsOrTwice) {
  const auto start = system_clock().now();
  LoadMeter meter;
  std::atomic<bool> over = false;
  std::thread worker([&] {
    for (int i = 0; i < 20'000; ++i) {
      const auto outer = meter.busy();
      const auto inner = meter.waiting_for_input();
    }
    over = true;
  });
  LoadReading last;
  while (!over) {
    const auto reading = meter.read();
    const auto step = reading - last;
    EXPECT_TRUE(step.busy >= 0ns && step.waiting_for_input >= 0ns && step.other >= 0ns);
    EXPECT_LE(reading.busy + reading.waiting_for_input + reading.other,
              system_clock().now() - start);
    last = reading;
  }
  worker.join();
}

TEST(DepthMeter, AveragesOverTimeAndNotOverChanges) {
  FakeClock clock;
  DepthMeter meter(clock);
  EXPECT_EQ(meter.read().mean(), 0);
  clock.advance(6s);
  meter.set(3);
  meter.set(9);
  meter.set(2);
  clock.advance(2s);
  const auto reading = meter.read();
  EXPECT_EQ(reading.current, 2u);
  EXPECT_EQ(reading.highest, 9u);
  EXPECT_EQ(reading.observed, 8s);
  EXPECT_EQ(reading.empty, 6s);
  EXPECT_DOUBLE_EQ(reading.mean(), 0.5);
}

TEST(SystemClock, NeverGoesBack) {
  auto last = system_clock().now();
  for (int i = 0; i < 1000; ++i) {
    const auto now = system_clock().now();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace myxtts::meter_test
