// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/counted_pool.h"

#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include <algorithm>
#include <map>

#include "device/cuda/runtime.h"

namespace myxtts {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// Whose each piece of memory is that roles have taken. Pieces are few: LibTorch's cache divides
// them.
class TakenPieces {
 public:
  void add(const void* first, std::size_t bytes, const RoleMemory& owner) {
    const std::lock_guard lock(mutex_);
    pieces_[first] = {.bytes = bytes, .owner = &owner};
  }

  void remove(const void* first) {
    const std::lock_guard lock(mutex_);
    pieces_.erase(first);
  }

  const RoleMemory* owner_of(const void* address) const {
    const std::lock_guard lock(mutex_);
    auto next = pieces_.upper_bound(address);
    if (next == pieces_.begin()) return nullptr;
    const auto& [first, piece] = *--next;
    const auto offset = static_cast<const char*>(address) - static_cast<const char*>(first);
    return static_cast<std::size_t>(offset) < piece.bytes ? piece.owner : nullptr;
  }

 private:
  struct Piece {
    std::size_t bytes = 0;
    const RoleMemory* owner = nullptr;
  };

  // Guarded by mutex_.
  mutable std::mutex mutex_;
  std::map<const void*, Piece> pieces_;
};

TakenPieces& taken_pieces() {
  static TakenPieces pieces;
  return pieces;
}

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
  if (result == cudaSuccess) {
    taken_pieces().add(taken, bytes, memory);
    return taken;
  }
  cudaGetLastError();
  memory.give_back(count);
  return nullptr;
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
         status != cudaStreamCaptureStatusNone;
}

// Takes memory from the device as long as the role's cap allows, and counts it.
std::shared_ptr<allocator::CUDAAllocator> counting_allocator(std::shared_ptr<RoleMemory> memory) {
  return torch::cuda::CUDAPluggableAllocator::createCustomAllocator(
      [memory](std::size_t bytes, int, cudaStream_t) { return take(*memory, bytes); },
      [memory](void* taken, std::size_t bytes, int, cudaStream_t) {
        taken_pieces().remove(taken);
        log_failure(cudaFree(taken), "giving memory back");
        memory->give_back(static_cast<std::int64_t>(bytes));
      });
}

}  // namespace

const RoleMemory* counted_owner_of(const void* address) {
  return taken_pieces().owner_of(address);
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
