// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace myxtts {

// A feed and the steps that are trained from it.
struct SteppedFeed {
  std::int64_t ahead = 0;          // batches that all its stages together can hold
  std::int64_t behind_buffer = 0;  // of them, those that have left the buffer already
  std::int64_t batches_a_step = 1;
  std::function<std::size_t()> in_buffer;  // batches, now
  std::function<bool()> step;              // trains one; false: no more
};

// The first steps take long, and batches pile up behind them that no later step finds: they would
// be measured in place of the stages that made them. Trains until the buffer does not shrink any
// more, or until everything that was there is used up.
inline void step_until_steady(const SteppedFeed& feed) {
  const std::size_t at_first = feed.in_buffer();
  for (std::int64_t taken = 0; taken < feed.ahead; taken += feed.batches_a_step) {
    // Until those behind the buffer are used up, the buffer says nothing.
    const std::size_t now = feed.in_buffer();
    if (taken >= feed.behind_buffer && (now == 0 || now >= at_first)) return;
    if (!feed.step()) return;
  }
}

}  // namespace myxtts
