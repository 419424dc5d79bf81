// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace myxtts {

// Time that only goes forward. An interface, so that a test can decide what time it is
// (tests/support/fake_clock.h). Any thread may ask.
class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  virtual Time now() const = 0;
};

class SystemClock final : public Clock {
 public:
  Time now() const override;
};

// The one clock of the process; lives until its end.
const Clock& system_clock();

}  // namespace myxtts
