// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_role_device.h"

#include <optional>
#include <string>
#include <utility>

#include <ATen/Context.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "base/error.h"
#include "device/cuda/counted_pool.h"
#include "device/cuda/cuda_graph_recorder.h"
#include "device/cuda/runtime.h"
#include "device/role_device.h"
#include "device/stream.h"

namespace myxtts {
namespace {

cudaStream_t native(const Stream& stream) {
  MYXTTS_CHECK(!stream.on_cpu(), "a GPU's event was used with the CPU's stream");
  return static_cast<cudaStream_t>(stream.native);
}

class CudaEvent final : public Event::State {
 public:
  explicit CudaEvent(std::string device) : device_(std::move(device)) {}
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() override { destroy(); }

  void record(const Stream& stream) override {
    const DeviceScope on(stream.gpu);
    if (event_ == nullptr || gpu_ != stream.gpu) create(stream.gpu);
    check(cudaEventRecord(event_, native(stream)), "marking a place in a stream of " + device_);
  }

  bool completed() const override {
    const cudaError_t result = cudaEventQuery(event_);
    if (result == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check(result, "asking whether a stream of " + device_ + " got to its mark");
    return true;
  }

  void hold_up(const Stream& stream) const override {
    check(cudaStreamWaitEvent(native(stream), event_, 0),
          "making a stream follow one of " + device_);
  }

  void wait() const override {
    check(cudaEventSynchronize(event_), "waiting for a stream of " + device_);
  }

  double milliseconds_since(const State& earlier) const override {
    const auto* other = dynamic_cast<const CudaEvent*>(&earlier);
    MYXTTS_CHECK(other != nullptr && other->gpu_ == gpu_,
                 "the time between marks of different devices was asked for");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, other->event_, event_),
          "reading the time between two marks of " + device_);
    return milliseconds;
  }

 private:
  void create(int gpu) {
    destroy();
    // A thread that waits sleeps: the data threads need the core.
    check(cudaEventCreateWithFlags(&event_, cudaEventBlockingSync),
          "making an event on " + device_);
    gpu_ = gpu;
  }

  void destroy() {
    if (event_ != nullptr) log_failure(cudaEventDestroy(event_), "giving an event back");
    event_ = nullptr;
  }

  const std::string device_;  // "GPU 1"
  cudaEvent_t event_ = nullptr;
  int gpu_ = -1;
};

// An event that takes the time. It belongs to the device of the stream it is recorded on, which
// messages call `device`.
Event make_cuda_event(std::string device) {
  return Event(std::make_unique<CudaEvent>(std::move(device)));
}

// A part of a GPU's multiprocessors, as a CUDA green context: kernels on its streams run on those
// alone. What it opened stays open until the process ends, as its streams do.
class GreenPartition {
 public:
  // Takes at least `multiprocessors`: the hardware hands them out in groups. Throws DeviceError
  // when the GPU has fewer or cannot be split.
  GreenPartition(int gpu, int multiprocessors);

  int multiprocessors() const { return multiprocessors_; }  // that it really has
  CUstream make_stream(int priority) const;

 private:
  int multiprocessors_ = 0;
  CUgreenCtx context_ = nullptr;
};

constexpr unsigned kSince = 12050;  // the CUDA that green contexts and their streams came with

// The driver's functions, looked up: the plugin does not link the driver.
template <typename Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion(name, &function, kSince, cudaEnableDefault, &found),
        std::string("looking for ") + name);
  if (found != cudaDriverEntryPointSuccess) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    throw DeviceError(fmt::format(
        "This NVIDIA driver cannot split a GPU: it is for CUDA {}.{} and has no {}. Update it, or "
        "train with --mode single.",
        driver / 1000, driver % 1000 / 10, name));
  }
  return reinterpret_cast<Function>(function);
}

#define MYXTTS_DRIVER(name) driver_function<decltype(&name)>(#name)

CUdevResource all_multiprocessors(CUdevice device) {
  CUdevResource all{};
  check(MYXTTS_DRIVER(cuDeviceGetDevResource)(device, &all, CU_DEV_RESOURCE_TYPE_SM),
        "asking a GPU for its multiprocessors");
  return all;
}

CUdevResource taken_from(const CUdevResource& all, int gpu, int multiprocessors) {
  CUdevResource part{};
  CUdevResource rest{};
  unsigned groups = 1;
  const CUresult result = MYXTTS_DRIVER(cuDevSmResourceSplitByCount)(
      &part, &groups, &all, &rest, 0, static_cast<unsigned>(multiprocessors));
  if (result != CUDA_SUCCESS || groups != 1) {
    throw DeviceError(
        fmt::format("GPU {} cannot give {} of its {} multiprocessors to the data role. Type: "
                    "--split-gpu {}:16",
                    gpu, multiprocessors, all.sm.smCount, gpu));
  }
  return part;
}

GreenPartition::GreenPartition(int gpu, int multiprocessors) {
  const DeviceScope on(gpu);
  check(cudaFree(nullptr), fmt::format("opening GPU {}", gpu));  // its primary context
  CUdevice device{};
  check(MYXTTS_DRIVER(cuDeviceGet)(&device, gpu), fmt::format("finding GPU {}", gpu));
  CUdevResource part = taken_from(all_multiprocessors(device), gpu, multiprocessors);
  multiprocessors_ = static_cast<int>(part.sm.smCount);

  CUdevResourceDesc description{};
  check(MYXTTS_DRIVER(cuDevResourceGenerateDesc)(&description, &part, 1),
        fmt::format("describing a part of GPU {}", gpu));
  check(
      MYXTTS_DRIVER(cuGreenCtxCreate)(&context_, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
      fmt::format("splitting GPU {}", gpu));
}

CUstream GreenPartition::make_stream(int priority) const {
  CUstream stream = nullptr;
  check(MYXTTS_DRIVER(cuGreenCtxStreamCreate)(&stream, context_, CU_STREAM_NON_BLOCKING, priority),
        "making a stream on a part of a GPU");
  return stream;
}

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
