// SPDX-License-Identifier: Apache-2.0
#include "pipeline/step_clock.h"

#include <utility>

#include "base/error.h"
#include "base/trace.h"

namespace myxtts {

StepClock::StepClock(std::function<Event()> make_event, const Stream& model_stream)
    : make_event_(std::move(make_event)), stream_(model_stream) {
  Event anchor = make_event_();
  anchor.record(stream_);
  timeline_.set_anchor(std::move(anchor), system_clock().now());
}

void StepClock::asked() {
  if (!asking_) asking_.emplace(new_step());
  asking_->asked.record(stream_);
}

void StepClock::got(const Event& filled, std::int64_t number) {
  MYXTTS_CHECK(asking_.has_value(), "batch {} came without being asked for", number);
  filled.hold_up(stream_);
  asking_->got.record(stream_);
  asking_->number = number;
  steps_.push_back(std::move(*asking_));
  asking_.reset();
  count_ended();
  if (steps_.size() > kStepsAhead + 1) {
    steps_[steps_.size() - 1 - kStepsAhead].asked.wait();
    count_ended();
  }
}

StepClock::Step StepClock::new_step() {
  if (unused_.empty()) return {.asked = make_event_(), .got = make_event_()};
  Step step = std::move(unused_.back());
  unused_.pop_back();
  return step;
}

// A step has ended where the next one was asked for.
void StepClock::count_ended() {
  while (steps_.size() >= 2 && steps_[1].asked.completed()) {
    count(steps_[0], steps_[1].asked);
    unused_.push_back(std::move(steps_[0]));
    steps_.pop_front();
  }
}

void StepClock::count(const Step& step, const Event& ended) {
  const double waited = step.got.milliseconds_since(step.asked);
  const double busy = ended.milliseconds_since(step.got);
  if (tracing()) {
    TraceLane& lane = trace_lane("model stream");
    const auto from = timeline_.time_of(step.got);
    if (waited > kReadyMilliseconds) {
      lane.add("wait for data", timeline_.time_of(step.asked), from, step.number);
    }
    lane.add("step", from, timeline_.time_of(ended), step.number);
  }
  const std::lock_guard lock(mutex_);
  ++readiness_.steps;
  if (waited <= kReadyMilliseconds) ++readiness_.ready;
  readiness_.waited_seconds += waited / 1000;
  const double whole = (waited + busy) / 1000;
  readiness_.step_seconds += whole;
  readiness_.step_squares += whole * whole;
  ++device_time_.batches;
  device_time_.busy_seconds += busy / 1000;
}

ReadinessReading StepClock::readiness() const {
  const std::lock_guard lock(mutex_);
  return readiness_;
}

DeviceTimeReading StepClock::device_time() const {
  const std::lock_guard lock(mutex_);
  return device_time_;
}

}  // namespace myxtts
