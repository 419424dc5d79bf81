// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "device/role_device.h"
#include "run/placed_tensors.h"

namespace myxtts {

// Brings tensors from a device to a file, piece by piece: while one piece is being written, the
// next ones are on their way through a few blocks of pinned memory, on a stream of its own. Tensors
// in host memory pass by without a copy.
//
// One thread at a time; the device outlives it.
class DeviceReader {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  explicit DeviceReader(RoleDevice& device, std::size_t block_bytes = kBlockBytes);

  // Queues a tensor; its bytes come to `sink` in pieces, after those of the tensors before it.
  // Waits for the device.
  void read(const PlacedTensor& tensor, const Sink& sink);

  // Until `sink` has everything. Waits for the device.
  void finish(const Sink& sink);

  // After an error: forgets what is under way. Waits for the device.
  void abandon();

 private:
  static constexpr std::size_t kBlockBytes = 16 << 20;
  static constexpr std::size_t kBlocks = 4;

  struct Block {
    HostMemory memory;
    Event copied;
  };
  struct Piece {
    std::span<const std::byte> bytes;
    Block* block = nullptr;  // null: the bytes are in host memory anyway
  };

  void copy(const PlacedTensor& tensor, std::size_t begin, std::size_t count, const Sink& sink);
  void hand_over_oldest(const Sink& sink);

  RoleDevice& device_;
  const std::size_t block_bytes_;
  Stream stream_;
  std::vector<Block> blocks_;
  std::vector<Block*> free_;
  std::deque<Piece> under_way_;  // in order
};

}  // namespace myxtts
