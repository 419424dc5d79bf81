// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/clock.h"

namespace myxtts {

// Says each thing at most once an hour, however often it is found. One thread; the clock outlives
// it.
class HourlyWarnings {
 public:
  static constexpr std::chrono::hours kQuiet{1};

  explicit HourlyWarnings(const Clock& clock = system_clock()) : clock_(clock) {}

  // A line of the log, unless one of the same cause was said within the hour. Whether it was.
  bool warn(const std::string& cause, const std::string& sentence);

 private:
  const Clock& clock_;
  std::map<std::string, Clock::Time> said_;
};

}  // namespace myxtts
