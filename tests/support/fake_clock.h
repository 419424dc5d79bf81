// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "base/clock.h"

namespace myxtts::test {

// Stands still until it is told to go on.
class FakeClock final : public Clock {
 public:
  Time now() const override { return Time(Time::duration(ticks_.load())); }
  void advance(Time::duration by) { ticks_ += by.count(); }

 private:
  std::atomic<Time::rep> ticks_{1'000'000'000};  // not 0: "never" must not look like "now"
};

}  // namespace myxtts::test
