// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "base/thread_group.h"
#include "device/role_device.h"
#include "device/stream.h"

namespace myxtts {

// Notices when a device waits for a rank that will never answer. A kernel that does so never ends,
// and everything that waits for the device with it; so a separate thread checks: where no mark was
// reached for too long, it aborts what the device waits for.
//
// The device outlives it. mark() and wait_for_marks() are the trainer's thread's, the rest any
// thread's.
class StallWatch {
 public:
  // Any thread's `rank_is_lost` says whether a rank is known to be lost. `give_up` ends what the
  // device waits for; it is called once, by any thread. The device may stand still for `timeout`,
  // and for `patience` once a rank is lost.
  StallWatch(RoleDevice& device, std::function<bool()> rank_is_lost, std::function<void()> give_up,
             std::chrono::milliseconds timeout,
             std::chrono::milliseconds patience = std::chrono::seconds(3));
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;
  ~StallWatch();

  void start();

  // Behind what was queued so far.
  void mark();

  // Whether the device got to every mark by itself. Waits for it no longer than patience says, and
  // then gives up.
  bool wait_for_marks();

  // What the device has computed since cannot be trusted.
  bool gave_up() const;

 private:
  void watch();
  bool reached_all();
  bool stands_still() const;
  void end_waiting();

  RoleDevice& device_;
  const std::function<bool()> rank_is_lost_;
  const std::function<void()> give_up_;
  const std::chrono::milliseconds timeout_;
  const std::chrono::milliseconds patience_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable ends_soon_;
  std::deque<Event> marks_;    // oldest first, not known to be reached
  std::vector<Event> unused_;  // events to mark with
  std::chrono::steady_clock::time_point moved_;
  bool gave_up_ = false;
  bool ends_ = false;

  ThreadGroup threads_;  // last: its thread uses all of the above
};

}  // namespace myxtts
