// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/stream.h"
#include "pipeline/pipeline_reading.h"

namespace myxtts {

// Where the marks of a device stand in the host's time, for the trace: counted from an event that
// was recorded while the device had nothing else to do.
class DeviceTimeline {
 public:
  // `event` is kept: it is not recorded again.
  void set_anchor(Event event, Clock::Time at) {
    anchor_.emplace(std::move(event));
    at_ = at;
  }
  bool has_anchor() const { return anchor_.has_value(); }

  // Both completed.
  Clock::Time time_of(const Event& event) const {
    const std::chrono::duration<double, std::milli> since(event.milliseconds_since(*anchor_));
    return at_ + std::chrono::duration_cast<Clock::Time::duration>(since);
  }

 private:
  std::optional<Event> anchor_;
  Clock::Time at_{};
};

// Tells by events on the model device how long each step took there and how long the device waited
// for its batch, and keeps the host from running far ahead of it.
//
//   model's stream:  ...step n │asked n+1│ (waits) │got n+1│ step n+1 ... │asked n+2│ ...
//
// `asked` is marked behind everything that was queued before the trainer asked for the batch, `got`
// behind the wait for it: between the two the device had nothing to do. On the CPU a mark is
// reached at once, and the same two marks enclose the time that the trainer waited.
//
// The trainer's thread calls asked() and got(); any thread may read.
class StepClock {
 public:
  // Steps that may be queued on the device behind the one it works on.
  static constexpr std::size_t kStepsAhead = 2;
  // So short a wait is the way from one mark to the next, not one for data.
  static constexpr double kReadyMilliseconds = 0.1;

  StepClock(std::function<Event()> make_event, const Stream& model_stream);

  // The trainer asks for its next batch; calling it again moves the mark.
  void asked();

  // It has one: its stream waits for `filled`. Waits itself only while the host is more than
  // kStepsAhead steps ahead of the device.
  void got(const Event& filled, std::int64_t number);

  ReadinessReading readiness() const;
  DeviceTimeReading device_time() const;  // of the steps

 private:
  struct Step {
    Event asked;
    Event got;
    std::int64_t number = -1;
  };

  Step new_step();
  void count_ended();
  void count(const Step& step, const Event& ended);

  const std::function<Event()> make_event_;
  const Stream stream_;
  DeviceTimeline timeline_;
  std::optional<Step> asking_;
  std::deque<Step> steps_;    // not counted yet, oldest first
  std::vector<Step> unused_;  // whose events are used again

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  ReadinessReading readiness_;
  DeviceTimeReading device_time_;
};

}  // namespace myxtts
