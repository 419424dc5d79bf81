// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pipeline_reading.h"

#include <memory>

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace myxtts::step_clock_test {
namespace {

using std::chrono::milliseconds;
using test::FakeClock;

// A device whose work lags behind the host: a mark is reached when the device's time gets there.
struct LaggingDevice {
  double now = 0;            // milliseconds of the device's work that were done
  double queued = 0;         // milliseconds of work that were asked for
  int waits = 0;             // of the host, for the device
  double held_up_until = 0;  // by another stream

  void work(double duration) { queued = std::max(queued, held_up_until) + duration; }
};

class LaggingEvent final : public Event::State {
 public:
  explicit LaggingEvent(LaggingDevice& device) : device_(device) {}
  void record(const Stream&) override { at_ = std::max(device_.queued, device_.held_up_until); }
  bool completed() const override { return at_ <= device_.now; }
  void hold_up(const Stream&) const override { device_.held_up_until = at_; }
  void wait() const override {
    if (completed()) return;
    ++device_.waits;
    device_.now = at_;
  }
  double milliseconds_since(const State& earlier) const override {
    return at_ - dynamic_cast<const LaggingEvent&>(earlier).at_;
  }

 private:
  LaggingDevice& device_;
  double at_ = 0;
};

TEST(StepClock, OnTheCpuAStepIsReadyWhenTheTrainerDidNotWait) {
  FakeClock time;
  StepClock steps([&] { return Event(time); }, {});
  Event filled(time);
  for (int step = 0; step < 4; ++step) {
    steps.asked();
    if (step == 2) time.advance(milliseconds(30));  // the trainer waits for its batch
    steps.got(filled, step);
    time.advance(milliseconds(10));  // the step
  }
  steps.asked();
  steps.got(filled, 4);
  const ReadinessReading readiness = steps.readiness();
  EXPECT_EQ(readiness.steps, 4);
  EXPECT_EQ(readiness.ready, 3);
  EXPECT_NEAR(readiness.waited_seconds, 0.030, 1e-9);
  EXPECT_NEAR(steps.device_time().busy_seconds, 0.040, 1e-9);
  EXPECT_EQ(steps.device_time().batches, 4);
}

TEST(StepClock, OnADeviceABatchIsReadyWhenItCameBeforeTheStepBeforeItEnded) {
  LaggingDevice device;
  StepClock steps([&] { return Event(std::make_unique<LaggingEvent>(device)); }, {});
  // Step 0 takes 100 ms. Batch 1 is asked for at once, while step 0 still runs.
  Event at_once(std::make_unique<LaggingEvent>(device));
  steps.asked();
  steps.got(at_once, 0);
  device.work(100);
  steps.asked();
  steps.got(at_once, 1);  // came long before step 0 ended
  device.work(100);
  steps.asked();
  device.held_up_until = 250;  // batch 2 comes 50 ms after step 1 ended
  steps.got(at_once, 2);
  device.work(100);
  steps.asked();
  device.now = device.queued;
  steps.got(at_once, 3);
  EXPECT_EQ(steps.readiness().steps, 3);
  EXPECT_EQ(steps.readiness().ready, 2);
  EXPECT_NEAR(steps.readiness().waited_seconds, 0.050, 1e-9);
  EXPECT_NEAR(steps.device_time().busy_seconds, 0.300, 1e-9);
}

TEST(StepClock, TheHostIsAtMostTwoStepsAhead) {
  LaggingDevice device;
  StepClock steps([&] { return Event(std::make_unique<LaggingEvent>(device)); }, {});
  const Event filled(std::make_unique<LaggingEvent>(device));
  for (int step = 0; step < 3; ++step) {
    steps.asked();
    steps.got(filled, step);
    device.work(100);
  }
  EXPECT_EQ(device.waits, 0) << "step 0 runs, 1 and 2 are queued";
  steps.asked();
  steps.got(filled, 3);
  EXPECT_EQ(device.waits, 1);
  EXPECT_EQ(device.now, 100) << "step 0 had to end, no more";
}

}  // namespace
}  // namespace myxtts::step_clock_test
