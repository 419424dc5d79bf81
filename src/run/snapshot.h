// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>

#include "device/role_device.h"
#include "run/placed_tensors.h"

namespace myxtts {

// A copy of tensors as they are at one place of the device's stream, while the stream goes on to
// change them.
//
// The copy lies on the device where that has room (a few milliseconds for gigabytes), otherwise in
// pinned host memory. The memory is taken with the first copy and kept, so that every save costs
// the same. One thread at a time; the device outlives it.
class Snapshot {
 public:
  // Memory of the device, or null where there is no room for that many bytes.
  using TakeMemory = std::function<std::shared_ptr<std::byte>(std::size_t)>;

  Snapshot(RoleDevice& device, TakeMemory take_on_device);

  // Queues the copies on the device's stream, and points each tensor at its own; waits for nothing.
  // False: no memory has room, and the tensors point at where they were.
  [[nodiscard]] bool take(std::initializer_list<PlacedTensors*> groups);

  // The stream's mark behind the copies.
  const Event& taken() const { return taken_; }

 private:
  bool has_room(std::size_t bytes);

  RoleDevice& device_;
  const TakeMemory take_on_device_;
  std::shared_ptr<std::byte> memory_;
  std::size_t bytes_ = 0;  // of memory_
  int gpu_ = -1;           // where memory_ is; -1: in host memory
  std::size_t refused_ = 0;
  Event taken_;
};

}  // namespace myxtts
