// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "device/role_device.h"

namespace c10 {
class DataPtr;
}

namespace myxtts {

// Counts what LibTorch takes on the CPU, for tensors and for oneDNN's scratch, as memory of the
// role whose thread asks; DeviceError where that would go over the role's cap. What other libraries
// take for themselves (plans of FFTs, packed matrices of MKL) is not seen.
//
// The allocator that counts is LibTorch's from the start of the process, since memory must go back
// to where it came from; for threads without a role it only hands on.

// While it lives, memory that this thread takes counts as `memory`'s, until it is given back, by
// whatever thread.
class CountedThread {
 public:
  explicit CountedThread(std::shared_ptr<RoleMemory> memory);
  CountedThread(const CountedThread&) = delete;
  CountedThread& operator=(const CountedThread&) = delete;
  ~CountedThread();

 private:
  std::shared_ptr<RoleMemory> before_;
};

// The role that the memory behind `data` counts as; null: nobody's.
const RoleMemory* counted_owner_of(const c10::DataPtr& data);

// A logical CPU device: LibTorch's work of its threads runs on `plan.threads` threads of its own
// and counts as its memory; copies and events are done as they are asked for.
std::unique_ptr<RoleDevice> open_cpu_role_device(Role role, const RolePlan& plan);

}  // namespace myxtts
