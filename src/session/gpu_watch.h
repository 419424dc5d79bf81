// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "device/device_plan.h"
#include "device/gpu_meter.h"
#include "diagnose/profile/trial_reading.h"

namespace myxtts {

// Looks at the GPU of a role now and then, and averages. Nothing waits for it. One thread; the
// clock outlives it.
class GpuWatch {
 public:
  static constexpr std::chrono::milliseconds kBetweenLooks{100};

  explicit GpuWatch(const RolePlan& role, const Clock& clock = system_clock());

  // As often as one likes: asks the driver only when the last look is some time ago.
  void look();

  // Since the last take(); nothing: there is no GPU, it does not tell, or nobody looked.
  std::optional<GpuSeen> take();

 private:
  const Clock& clock_;
  std::unique_ptr<GpuMeter> meter_;  // null: the role is on the CPU
  Clock::Time next_{};
  GpuSeen sum_;
  int looks_ = 0;
};

}  // namespace myxtts
