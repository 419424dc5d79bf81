// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_role_device.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>

#include <optional>

#include "base/error.h"
#include "device/cuda/check.h"
#include "device/cuda/counted_pool.h"
#include "device/cuda/cuda_event.h"
#include "device/cuda/cuda_graph_recorder.h"
#include "device/cuda/green_partition.h"
#include "device/failed_device.h"

namespace myxtts {
namespace {

c10::cuda::CUDAStream libtorch_stream(const Stream& stream) {
  return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream.native),
                                          static_cast<c10::DeviceIndex>(stream.gpu));
}

class CudaScope final : public RoleDevice::Scope {
 public:
  explicit CudaScope(const Stream& stream) : guard_(libtorch_stream(stream)) {}

 private:
  const c10::cuda::CUDAStreamGuard guard_;
};

// As CUDA counts: the lower the number, the sooner its blocks are placed.
int priority_number(StreamPriority priority) {
  int least = 0;
  int greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for streams' priorities");
  if (priority == StreamPriority::Low) return least;
  return priority == StreamPriority::High ? greatest : (least + greatest) / 2;
}

// LibTorch's allocator must know the GPUs before anything is asked of it.
int opened(int gpu) {
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
  return gpu;
}

class CudaRoleDevice final : public RoleDevice {
 public:
  CudaRoleDevice(Role role, const RolePlan& plan)
      : role_(role),
        gpu_(opened(plan.gpu.value().logical)),
        name_(fmt::format("GPU {}", plan.gpu->listed)),
        memory_(std::make_shared<RoleMemory>(role, name_, plan.memory_cap_bytes)),
        pool_(gpu_, memory_) {
    const DeviceScope on(gpu_);
    priority_ = priority_number(plan.priority);
    if (plan.multiprocessors) partition_.emplace(gpu_, static_cast<int>(*plan.multiprocessors));
    stream_ = make_stream();
  }

  std::string name() const override { return name_; }
  int gpu() const override { return gpu_; }
  Stream stream() const override { return stream_; }

  Stream make_stream() override {
    const DeviceScope on(gpu_);
    cudaStream_t native = nullptr;
    if (partition_) {
      native = partition_->make_stream(priority_);
    } else {
      check(cudaStreamCreateWithPriority(&native, cudaStreamNonBlocking, priority_),
            fmt::format("making a stream on {}", name_));
    }
    pool_.add_stream(native);
    Stream made{.gpu = gpu_, .id = 0, .native = native};
    made.id = libtorch_stream(made).id();
    return made;
  }

  Event make_event() const override { return make_cuda_event(name_); }

  HostMemory host_memory(std::size_t bytes) const override {
    const DeviceScope on(gpu_);  // pinning opens a context on the current device
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable),
          fmt::format("pinning {} bytes of host memory", bytes));
    return {static_cast<std::byte*>(memory), [](std::byte* pinned) {
              log_failure(cudaFreeHost(pinned), "giving pinned memory back");
            }};
  }

  void copy(const Stream& stream, DeviceBytes to, DeviceBytes from,
            std::size_t bytes) const override {
    if (bytes == 0) return;
    const auto native = static_cast<cudaStream_t>(stream.native);
    const bool between_cards = to.gpu >= 0 && from.gpu >= 0 && to.gpu != from.gpu;
    check(between_cards ? cudaMemcpyPeerAsync(to.data, to.gpu, from.data, from.gpu, bytes, native)
                        : cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDefault, native),
          fmt::format("copying {} bytes for the {} role on {}", bytes, name_of(role_), name_));
  }

  std::unique_ptr<Scope> enter(const Stream& stream) override {
    return std::make_unique<CudaScope>(stream);
  }

  const RoleMemory& memory() const override { return *memory_; }

  std::unique_ptr<GraphRecorder> make_graph_recorder() override {
    return make_cuda_graph_recorder(stream_, pool_.make_graph_pool());
  }

  void rethrow() const override {
    try {
      throw;
    } catch (const c10::OutOfMemoryError& full) {
      if (memory_->read().refused > 0) throw memory_->over_cap();
      throw DeviceError(
          fmt::format("{} is full: {} Lower --batch-size, or end what else runs there.", name_,
                      full.what_without_backtrace()));
    } catch (const c10::Error& error) {
      throw failed_device(role_, name_, error.what_without_backtrace());
    }
  }

 private:
  const Role role_;
  const int gpu_;
  const std::string name_;
  const std::shared_ptr<RoleMemory> memory_;
  CountedPool pool_;
  int priority_ = 0;
  std::optional<GreenPartition> partition_;
  Stream stream_;
};

}  // namespace

std::unique_ptr<RoleDevice> open_cuda_role_device(Role role, const RolePlan& plan) {
  return std::make_unique<CudaRoleDevice>(role, plan);
}

}  // namespace myxtts
