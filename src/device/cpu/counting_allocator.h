// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "device/role_memory.h"

namespace myxtts {

// Counts what LibTorch's CPU tensors take for the role of the thread that makes them; DeviceError
// where that would go over the role's cap. Memory that libraries take for themselves (oneDNN's
// scratch, FFT plans) is not seen.

// Puts the counting allocator in front of LibTorch's own, once for the process; tensors made before
// stay as they are.
void install_counting_allocator();

// While it lives, tensors that this thread makes count as `memory`'s, until they are freed, by
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

}  // namespace myxtts
