// SPDX-License-Identifier: Apache-2.0
#include "session/trial/steady_feed.h"

namespace myxtts {

void step_until_steady(const SteppedFeed& feed) {
  const std::size_t at_first = feed.in_buffer();
  for (std::int64_t taken = 0; taken < feed.ahead; taken += feed.batches_a_step) {
    // Until those behind the buffer are used up, the buffer says nothing.
    const std::size_t now = feed.in_buffer();
    if (taken >= feed.behind_buffer && (now == 0 || now >= at_first)) return;
    if (!feed.step()) return;
  }
}

}  // namespace myxtts
