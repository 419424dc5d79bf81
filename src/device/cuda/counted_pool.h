// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/cuda/MemPool.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/role_device.h"

namespace myxtts {

// The role that took the piece of memory in which `address` is; null: none did. Any thread.
const RoleMemory* counted_owner_of(const void* address);

// The memory of one role on its GPU: a pool of its own in LibTorch's caching allocator, over an
// allocator that counts what is taken from the device and refuses what goes over the cap. So two
// roles on one card cannot take each other's memory, and each has a figure.
//
// Whatever is allocated while one of the role's streams is current comes from the pool, whichever
// thread asks (autograd's threads compute on the streams of the forward pass). A stream that
// captures a CUDA graph is left to the graph's own pool.
//
// While a pool is open LibTorch does not look for blocks that other streams have finished with
// (record_stream): the roles exchange fixed tensors ordered by events instead.
class CountedPool {
 public:
  CountedPool(int gpu, std::shared_ptr<RoleMemory> memory);
  CountedPool(const CountedPool&) = delete;
  CountedPool& operator=(const CountedPool&) = delete;
  ~CountedPool();

  void add_stream(cudaStream_t stream);

  // A pool for graphs that share their memory; counted too, and kept as long as this one: LibTorch
  // does not record into a pool whose graphs are gone.
  at::cuda::MempoolId_t make_graph_pool();

 private:
  bool owns(cudaStream_t stream) const;

  const int gpu_;
  const std::shared_ptr<RoleMemory> memory_;
  std::optional<at::cuda::MemPool> pool_;
  std::vector<std::unique_ptr<at::cuda::MemPool>> graph_pools_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::vector<cudaStream_t> streams_;
};

}  // namespace myxtts
