// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

namespace myxtts {

Clock::Time SystemClock::now() const {
  return std::chrono::steady_clock::now();
}

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace myxtts
