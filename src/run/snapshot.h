// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "device/role_device.h"
#include "run/placed_tensors.h"

namespace myxtts {

// A copy of tensors as they are at one place of the device's stream, while the stream goes on to
// change them.
//
// The copy lies on the device where that has room (a few milliseconds for gigabytes), otherwise in
// pinned host memory. The memory is taken with the first copy, or in time for it, and kept, so that
// every save costs the same. One thread at a time; the device outlives it.
class Snapshot {
 public:
  // Memory of the device, or null where there is no room for that many bytes.
  using TakeMemory = std::function<std::shared_ptr<std::byte>(std::size_t)>;

  static constexpr std::size_t kHostPiece = 64 << 20;  // bytes

  // A tensor larger than a piece of host memory has a piece of its own.
  Snapshot(RoleDevice& device, TakeMemory take_on_device, std::size_t host_piece = kHostPiece);

  // Takes host memory for copies of such tensors. The driver takes a second or two over gigabytes
  // and lets nobody queue work meanwhile, so they are taken piece by piece. Waits for that.
  void prepare_in_host_memory(std::span<PlacedTensors* const> groups);

  // Queues the copies on the device's stream, and points each tensor at its own; waits for nothing.
  // False: no memory has room, and the tensors point at where they were.
  [[nodiscard]] bool take(std::span<PlacedTensors* const> groups);

  // The stream's mark behind the copies.
  const Event& taken() const { return taken_; }

 private:
  using Sizes = std::vector<std::size_t>;

  struct Piece {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes = 0;
  };

  bool has_room(std::span<PlacedTensors* const> groups);
  bool holds(const Sizes& sizes) const;
  bool take_in_host_memory(const Sizes& sizes);

  RoleDevice& device_;
  const TakeMemory take_on_device_;
  const std::size_t host_piece_;
  std::vector<Piece> pieces_;  // no tensor lies in two
  int gpu_ = -1;               // where they are; -1: in host memory
  std::size_t refused_ = 0;
  Event taken_;
};

}  // namespace myxtts
