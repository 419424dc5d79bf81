// SPDX-License-Identifier: Apache-2.0
#include "run/device_reader.h"

#include <algorithm>

namespace myxtts {

// Pinning takes long, so the blocks are made once.
DeviceReader::DeviceReader(RoleDevice& device, std::size_t block_bytes)
    : device_(device), block_bytes_(block_bytes), stream_(device.make_stream()) {
  if (device_.gpu() < 0) return;
  blocks_.reserve(kBlocks);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks_.push_back({device_.host_memory(block_bytes_), device_.make_event()});
    free_.push_back(&blocks_.back());
  }
}

void DeviceReader::read(const PlacedTensor& tensor, const Sink& sink) {
  if (tensor.place.gpu < 0 || tensor.bytes == 0) {
    under_way_.push_back({{static_cast<const std::byte*>(tensor.place.data), tensor.bytes}});
    return;
  }
  for (std::size_t begin = 0; begin < tensor.bytes; begin += block_bytes_) {
    copy(tensor, begin, std::min(block_bytes_, tensor.bytes - begin), sink);
  }
}

void DeviceReader::copy(const PlacedTensor& tensor, std::size_t begin, std::size_t count,
                        const Sink& sink) {
  while (free_.empty()) hand_over_oldest(sink);
  Block* block = free_.back();
  free_.pop_back();
  const DeviceBytes from{static_cast<std::byte*>(tensor.place.data) + begin, tensor.place.gpu};
  under_way_.push_back({{block->memory.get(), count}, block});
  device_.copy(stream_, {block->memory.get(), -1}, from, count);
  block->copied.record(stream_);
}

void DeviceReader::hand_over_oldest(const Sink& sink) {
  const Piece piece = under_way_.front();
  under_way_.pop_front();
  if (piece.block != nullptr) {
    piece.block->copied.wait();
    free_.push_back(piece.block);  // written before the next copy into it can be asked for
  }
  sink(piece.bytes);
}

void DeviceReader::finish(const Sink& sink) {
  while (!under_way_.empty()) hand_over_oldest(sink);
}

void DeviceReader::abandon() {
  finish([](std::span<const std::byte>) {});
}

}  // namespace myxtts
