// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "device/role_device.h"
#include "device/stream.h"
#include "kernels/adamw/adamw.h"
#include "train/observer.h"

namespace myxtts {

// Brings the reports of steps from the device to the host without anybody waiting: each is copied
// into host memory of its own behind the step, and read once its event has completed. Where a step
// has several optimisers, their reports are one: losses stand one after another, what was trained
// is added up, gradients are measured together, and a step is skipped where one of them was. The
// trainer's thread only; the device outlives it.
class NumberReader {
 public:
  // How many losses each report tells beside the one that was trained.
  NumberReader(RoleDevice& device, std::vector<std::int64_t> losses)
      : device_(device), losses_(std::move(losses)) {}
  ~NumberReader();

  // Queues the copy of the reports that the stream's work so far leaves there, one of each
  // optimiser.
  void read(const Stream& stream, std::span<const UpdateReport* const> reports);

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
  const std::vector<std::int64_t> losses_;
  std::deque<Copy> under_way_;
  std::vector<Copy> unused_;
};

}  // namespace myxtts
