// SPDX-License-Identifier: Apache-2.0
#include "device/stream.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/fake_clock.h"

namespace myxtts::event_test {
namespace {

using namespace std::chrono_literals;

TEST(HostEvent, TimeBetweenTwoMarksIsTheClocks) {
  test::FakeClock clock;
  Event first(clock);
  Event second(clock);
  first.record({});
  clock.advance(250ms);
  second.record({});
  EXPECT_DOUBLE_EQ(second.milliseconds_since(first), 250);
  EXPECT_DOUBLE_EQ(first.milliseconds_since(second), -250);
}

TEST(HostEvent, RecordingAgainMovesTheMark) {
  test::FakeClock clock;
  Event first(clock);
  Event second(clock);
  first.record({});
  second.record({});
  clock.advance(3ms);
  second.record({});
  EXPECT_DOUBLE_EQ(second.milliseconds_since(first), 3);
}

TEST(HostEvent, OneThatWasNeverRecordedHoldsNothingUpAndHasNoTime) {
  Event event;
  EXPECT_FALSE(event.recorded());
  EXPECT_TRUE(event.completed());
  event.wait();
  event.hold_up({});
  Event other;
  other.record({});
  EXPECT_THROW((void)other.milliseconds_since(event), InternalError);
}

}  // namespace
}  // namespace myxtts::event_test
