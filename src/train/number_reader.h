// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "device/event.h"
#include "device/role_device.h"
#include "kernels/adamw.h"
#include "train/step_numbers.h"

namespace myxtts {

// Brings the reports of steps from the device to the host without anybody waiting: each is copied
// into host memory of its own behind the step, and read once its event has completed. The trainer's
// thread only; the device outlives it.
class NumberReader {
 public:
  explicit NumberReader(RoleDevice& device) : device_(device) {}
  ~NumberReader();

  // Queues the copy of a report that the stream's work so far leaves at `report`.
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
  std::deque<Copy> under_way_;
  std::vector<Copy> unused_;
};

}  // namespace myxtts
