// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bounded_queue.h"
#include "base/thread_group.h"
#include "data/cache/feature_cache.h"
#include "device/role_device.h"
#include "pipeline/staging_pool.h"

namespace myxtts {

// What the feature stage made of one clip: where it made it, or copied into host memory.
struct ComputedClip {
  std::uint64_t identity = 0;
  DeviceBytes samples = {};  // int16 at 22,050 Hz
  std::size_t sample_count = 0;
  DeviceBytes codes = {};  // int64
  std::size_t code_count = 0;
};

// Puts what a run computes into its feature cache while it trains, so that later epochs neither
// decode nor encode.
//
//   feature stage ──keep()──▶ copy to pinned memory, an event behind it ──▶ writer: add() to disk
//
// keep() queues copies and waits for nothing: neither for the device nor for the disk. While all
// blocks of memory are on their way, clips are passed over; the next epoch computes them again and
// offers them again. So training is as fast as without a cache, whatever the disk is.
//
// keep() is the feature stage's thread; the others are the owner's. The writer's own thread is the
// one that waits for the device. Device and cache outlive it.
class CacheFiller {
 public:
  static constexpr std::size_t kBlocks = 4;

  CacheFiller(RoleDevice& device, FeatureCache& cache, std::size_t blocks = kBlocks);
  CacheFiller(const CacheFiller&) = delete;
  CacheFiller& operator=(const CacheFiller&) = delete;
  ~CacheFiller();  // drops what has not been written

  // Once.
  void start();

  // Copies behind everything that is queued on the device's stream. The clips' memory may be used
  // again by whatever is queued there afterwards.
  void keep(std::span<const ComputedClip> clips);

  // Waits until everything that was kept is in the cache. Nothing may be kept any more.
  void finish();

  std::int64_t passed_over() const { return passed_over_; }  // clips, for lack of a block

 private:
  struct Job {
    StagingPool::Block block;
    Event arrived;
    std::vector<ComputedClip> clips;  // in the block
  };

  Job copy(StagingPool::Block block, std::span<const ComputedClip> clips);
  void write();
  void add(const ComputedClip& clip);

  RoleDevice& device_;
  FeatureCache& cache_;
  StagingPool blocks_;
  BoundedQueue<Job> jobs_;
  std::atomic<bool> accepting_ = true;    // false once the disk or the device refused
  std::atomic<bool> discarding_ = false;  // what is copied is not written any more
  std::atomic<std::int64_t> passed_over_ = 0;
  bool finished_ = false;  // the owner's thread

  ThreadGroup threads_;  // last: it uses everything above
};

}  // namespace myxtts
