// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/counted_pool.h"

#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include <algorithm>

#include "device/cuda/check.h"

namespace myxtts {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// Null is LibTorch's sign of memory that cannot be had.
void* take(RoleMemory& memory, std::size_t bytes) {
  const auto count = static_cast<std::int64_t>(bytes);
  if (!memory.try_take(count)) return nullptr;
  // Also while this thread records a graph, which is none of its work.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  void* taken = nullptr;
  const cudaError_t result = cudaMalloc(&taken, bytes);
  cudaThreadExchangeStreamCaptureMode(&mode);
  if (result == cudaSuccess) return taken;
  cudaGetLastError();
  memory.give_back(count);
  return nullptr;
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
         status != cudaStreamCaptureStatusNone;
}

}  // namespace

std::shared_ptr<allocator::CUDAAllocator> counting_allocator(std::shared_ptr<RoleMemory> memory) {
  return torch::cuda::CUDAPluggableAllocator::createCustomAllocator(
      [memory](std::size_t bytes, int, cudaStream_t) { return take(*memory, bytes); },
      [memory](void* taken, std::size_t bytes, int, cudaStream_t) {
        log_failure(cudaFree(taken), "giving memory back");
        memory->give_back(static_cast<std::int64_t>(bytes));
      });
}

CountedPool::CountedPool(int gpu, std::shared_ptr<RoleMemory> memory)
    : gpu_(gpu), memory_(std::move(memory)) {
  const DeviceScope on(gpu);  // MemPool takes the current device
  pool_.emplace(counting_allocator(memory_));
  allocator::beginAllocateToPool(static_cast<c10::DeviceIndex>(gpu_), pool_->id(),
                                 [this](cudaStream_t stream) { return owns(stream); });
}

CountedPool::~CountedPool() {
  try {
    allocator::endAllocateToPool(static_cast<c10::DeviceIndex>(gpu_), pool_->id());
  } catch (const std::exception&) {
    log_failure(cudaErrorUnknown, "closing a role's memory");
  }
}

void CountedPool::add_stream(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(stream);
}

at::cuda::MempoolId_t CountedPool::make_graph_pool() {
  const DeviceScope on(gpu_);
  graph_pools_.push_back(std::make_unique<at::cuda::MemPool>(counting_allocator(memory_)));
  const at::cuda::MempoolId_t id = graph_pools_.back()->id();
  // One user more than there are, as the role's own pool has: LibTorch does not give a pool back to
  // the device while another one is open, it fails.
  allocator::createOrIncrefPool(static_cast<c10::DeviceIndex>(gpu_), id);
  return id;
}

bool CountedPool::owns(cudaStream_t stream) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(streams_, stream) != streams_.end() && !is_capturing(stream);
}

}  // namespace myxtts
