// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "device/role_device.h"
#include "device/stream.h"
#include "kernels/adamw/adamw.h"
#include "train/observer.h"

namespace myxtts {

// Brings the reports of steps from the device to the host without anybody waiting: each is copied
// into host memory of its own behind the step, and read once its event has completed. The trainer's
// thread only; the device outlives it.
class NumberReader {
 public:
  // `losses`: how many a report has beside the one that was trained.
  NumberReader(RoleDevice& device, std::int64_t losses) : device_(device), losses_(losses) {}
  ~NumberReader();

  // Queues the copy of the report that the stream's work so far leaves there.
  void read(const Stream& stream, const UpdateReport* report);

  // Of the steps that are finished, oldest first. Never waits.
  std::vector<StepNumbers> take();
  // Of all steps. Waits for the device.
  std::vector<StepNumbers> finish();

 private:
  struct Copy {
    HostMemory memory;
    Event arrived;
  };

  Copy make_copy() const;
  StepNumbers use(Copy copy);

  RoleDevice& device_;
  const std::int64_t losses_;
  std::deque<Copy> under_way_;
  std::vector<Copy> unused_;
};

}  // namespace myxtts
