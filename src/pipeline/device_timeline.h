// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "device/event.h"

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

}  // namespace myxtts
