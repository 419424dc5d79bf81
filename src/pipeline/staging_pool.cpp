// SPDX-License-Identifier: Apache-2.0
#include "pipeline/staging_pool.h"

#include <new>

#include "base/error.h"

namespace myxtts {
namespace {

// Room to grow, so that a slightly larger batch does not need another block.
std::size_t with_slack(std::size_t bytes) {
  return (bytes + bytes / 8 + 4095) / 4096 * 4096;
}

}  // namespace

StagingPool::StagingPool(std::size_t blocks, Allocate allocate)
    : allocate_(std::move(allocate)), entries_(blocks) {
  MYXTTS_CHECK(blocks >= 1, "a staging pool without blocks stages nothing");
  for (std::size_t index = 0; index < blocks; ++index) free_.push_back(index);
}

std::optional<StagingPool::Block> StagingPool::claim(std::size_t bytes) {
  std::size_t index = 0;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return stopped_ || !free_.empty(); });
    if (stopped_) return std::nullopt;
    index = free_.front();
    free_.pop_front();
  }
  return prepared(index, bytes);
}

std::optional<StagingPool::Block> StagingPool::try_claim(std::size_t bytes) {
  std::size_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || free_.empty()) return std::nullopt;
    index = free_.front();
    free_.pop_front();
  }
  return prepared(index, bytes);
}

StagingPool::Block StagingPool::prepared(std::size_t index, std::size_t bytes) {
  Entry& entry = entries_[index];
  Block block(*this, index, {});  // from here on the index cannot be lost
  if (const Wait until_read = std::exchange(entry.until_read, {})) until_read();
  if (entry.capacity < bytes) grow(entry, with_slack(bytes));
  block.bytes_ = {entry.memory.get(), bytes};
  return block;
}

void StagingPool::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  freed_.notify_all();
}

std::size_t StagingPool::free_blocks() const {
  const std::lock_guard lock(mutex_);
  return free_.size();
}

std::size_t StagingPool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void StagingPool::give_back(std::size_t index) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(index);
  freed_.notify_one();
}

void StagingPool::grow(Entry& entry, std::size_t bytes) {
  const std::size_t before = std::exchange(entry.capacity, 0);
  entry.memory.reset();  // the old block first: pinned memory is scarce
  entry.memory = allocate_(bytes);
  entry.capacity = bytes;
  const std::lock_guard lock(mutex_);
  bytes_ += bytes - before;
}

StagingPool::Memory plain_memory(std::size_t bytes) {
  auto* const memory = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(kAlignment)));
  return {memory, [](std::byte* block) { ::operator delete(block, std::align_val_t(kAlignment)); }};
}

}  // namespace myxtts
