// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "device/role_device.h"

namespace myxtts {

inline constexpr std::size_t kAlignment = 64;  // of arrays in staged memory: a cache line

inline std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// The few blocks of host memory that devices copy from (pinned where the data device is a GPU),
// used again and again.
//
//   free ──claim()──▶ being written ──▶ being read by a device ──~Block()──▶ free, once it was read
//
// A block goes back as soon as its copies are queued, together with a wait for their end; whoever
// claims it next does that waiting. So this is the one place where a host thread waits for a GPU.
//
// Any thread may claim, give back and stop. The pool outlives every Block it handed out.
class StagingPool {
 public:
  using Memory = HostMemory;
  using Allocate = std::function<Memory(std::size_t bytes)>;
  using Wait = std::function<void()>;
  class Block;

  StagingPool(std::size_t blocks, Allocate allocate);

  // Waits for a free block and for the device that read it last; makes it larger where `bytes` need
  // it. Nothing comes back after stop(). Throws what the allocator or the device throws.
  [[nodiscard]] std::optional<Block> claim(std::size_t bytes);

  // The same without waiting for a block: nothing when none is free.
  [[nodiscard]] std::optional<Block> try_claim(std::size_t bytes);

  // Whoever waits in claim() wakes with nothing, now and later.
  void stop();

  std::size_t blocks() const { return entries_.size(); }
  std::size_t free_blocks() const;
  std::size_t bytes() const;  // of all blocks

 private:
  struct Entry {
    Memory memory;
    std::size_t capacity = 0;
    Wait until_read;  // empty: no device reads it
  };

  Block prepared(std::size_t index, std::size_t bytes);
  void give_back(std::size_t index) noexcept;
  void grow(Entry& entry, std::size_t bytes);

  const Allocate allocate_;
  std::vector<Entry> entries_;  // one belongs to whoever holds its Block

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::deque<std::size_t> free_;  // given back first, first
  std::size_t bytes_ = 0;
  bool stopped_ = false;
};

// The right to write into one block. Goes back to the pool when it is destroyed.
class StagingPool::Block {
 public:
  Block(Block&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), index_(other.index_), bytes_(other.bytes_) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(index_, other.index_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Block() {
    if (pool_ != nullptr) pool_->give_back(index_);
  }

  std::span<std::byte> bytes() const { return bytes_; }  // as many as were asked for

  // Says what ends when the devices have read the block: an event's wait, say. Before giving back.
  void read_until(Wait wait) { pool_->entries_[index_].until_read = std::move(wait); }

 private:
  friend class StagingPool;
  Block(StagingPool& pool, std::size_t index, std::span<std::byte> bytes)
      : pool_(&pool), index_(index), bytes_(bytes) {}

  StagingPool* pool_;  // null once moved from
  std::size_t index_;
  std::span<std::byte> bytes_;
};

// Ordinary memory, 64-byte aligned: where no GPU reads.
StagingPool::Memory plain_memory(std::size_t bytes);

}  // namespace myxtts
