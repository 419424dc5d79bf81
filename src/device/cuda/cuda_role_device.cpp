// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include <ATen/Context.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/MemPool.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "base/error.h"
#include "base/log.h"
#include "device/cuda/backend.h"
#include "device/cuda/counted_pool.h"
#include "device/cuda/runtime.h"

namespace myxtts {
namespace {

cudaStream_t native(const Stream& stream) {
  MYXTTS_CHECK(!stream.on_cpu(), "a GPU's event was used with the CPU's stream");
  return static_cast<cudaStream_t>(stream.native);
}

// An event that takes the time. It belongs to the device of the stream it is recorded on, which
// messages call `device`.
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
        fmt::format("cuda:{} cannot give {} of its {} multiprocessors to the data role; give "
                    "another number of them, as in --split-gpu N:16.",
                    gpu, multiprocessors, all.sm.smCount));
  }
  return part;
}

// A part of a GPU's multiprocessors: kernels on streams of this context run on those alone. It has
// at least `multiprocessors`, for the hardware hands them out in groups. It stays open until the
// process ends, as its streams do. Throws DeviceError when the GPU has fewer or cannot be split.
CUgreenCtx make_green_context(int gpu, int multiprocessors) {
  const DeviceScope on(gpu);
  check(cudaFree(nullptr), fmt::format("opening cuda:{}", gpu));  // its primary context
  CUdevice device{};
  check(MYXTTS_DRIVER(cuDeviceGet)(&device, gpu), fmt::format("finding cuda:{}", gpu));
  CUdevResource part = taken_from(all_multiprocessors(device), gpu, multiprocessors);
  CUdevResourceDesc description{};
  check(MYXTTS_DRIVER(cuDevResourceGenerateDesc)(&description, &part, 1),
        fmt::format("describing a part of cuda:{}", gpu));
  CUgreenCtx context = nullptr;
  check(MYXTTS_DRIVER(cuGreenCtxCreate)(&context, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
        fmt::format("splitting cuda:{}", gpu));
  return context;
}

c10::cuda::CUDAStream libtorch_stream(const Stream& stream) {
  return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream.native),
                                          static_cast<c10::DeviceIndex>(stream.gpu));
}

class CudaGraph final : public RecordedGraph {
 public:
  CudaGraph(int gpu, const c10::cuda::CUDAStream& stream) : gpu_(gpu), stream_(stream) {}

  void record(const at::cuda::MempoolId_t& pool, const std::function<void()>& work) {
    const c10::cuda::CUDAStreamGuard on(stream_);
    // Of this thread alone: other threads may go on using the GPU meanwhile.
    graph_.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      end_failed();
      throw;
    }
    graph_.capture_end();
  }

  void replay() override {
    const DeviceScope on(gpu_);
    const c10::cuda::CUDAStreamGuard guard(stream_);
    graph_.replay();
  }

 private:
  // What failed matters more than that the recording could not be ended well.
  void end_failed() {
    try {
      graph_.capture_end();
    } catch (const std::exception& error) {
      log_debug("device", "A recording was given up: {}", error.what());
    }
    cudaGetLastError();
  }

  const int gpu_;
  const c10::cuda::CUDAStream stream_;
  at::cuda::CUDAGraph graph_;
};

// Records what is queued on a role's stream, with memory from `pool`.
//
// LibTorch's default generator draws from a state that is known here: a place in it can be set
// while a graph is recorded, which the generator itself refuses.
class CudaGraphRecorder final : public GraphRecorder {
 public:
  CudaGraphRecorder(const Stream& stream, at::cuda::MempoolId_t pool)
      : gpu_(stream.gpu),
        stream_(libtorch_stream(stream)),
        pool_(pool),
        random_(c10::make_intrusive<at::CUDAGeneratorState>()),
        generator_(at::cuda::detail::getDefaultCUDAGenerator(device_index())),
        random_before_(generator_.graphsafe_get_state()) {
    generator_.graphsafe_set_state(
        at::Generator(c10::make_intrusive<at::CUDAGeneratorImpl>(device_index(), random_)));
  }
  CudaGraphRecorder(const CudaGraphRecorder&) = delete;
  CudaGraphRecorder& operator=(const CudaGraphRecorder&) = delete;
  ~CudaGraphRecorder() override { generator_.graphsafe_set_state(random_before_); }

  std::unique_ptr<RecordedGraph> record(const std::function<void()>& work) override {
    const DeviceScope on(gpu_);
    auto graph = std::make_unique<CudaGraph>(gpu_, stream_);
    graph->record(pool_, work);
    return graph;
  }

  std::uint64_t random_place() const override { return random_->offset_intragraph_; }
  void go_to(std::uint64_t place) override { random_->offset_intragraph_ = place; }

 private:
  c10::DeviceIndex device_index() const { return static_cast<c10::DeviceIndex>(gpu_); }

  const int gpu_;
  const c10::cuda::CUDAStream stream_;
  const at::cuda::MempoolId_t pool_;
  const c10::intrusive_ptr<at::CUDAGeneratorState> random_;
  at::Generator generator_;
  const at::Generator random_before_;
};

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
    if (plan.multiprocessors) {
      part_ = make_green_context(gpu_, static_cast<int>(*plan.multiprocessors));
    }
    stream_ = make_stream();
  }

  std::string name() const override { return name_; }
  int gpu() const override { return gpu_; }
  Stream stream() const override { return stream_; }

  Stream make_stream() override {
    const DeviceScope on(gpu_);
    cudaStream_t stream = nullptr;
    if (part_ != nullptr) {
      check(
          MYXTTS_DRIVER(cuGreenCtxStreamCreate)(&stream, part_, CU_STREAM_NON_BLOCKING, priority_),
          "making a stream on a part of a GPU");
    } else {
      check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority_),
            fmt::format("making a stream on {}", name_));
    }
    pool_.add_stream(stream);
    Stream made{.gpu = gpu_, .id = 0, .native = stream};
    made.id = libtorch_stream(made).id();
    return made;
  }

  Event make_event() const override { return Event(std::make_unique<CudaEvent>(name_)); }

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
    const auto queue = static_cast<cudaStream_t>(stream.native);
    const bool p2p = to.gpu >= 0 && from.gpu >= 0 && to.gpu != from.gpu;
    check(p2p ? cudaMemcpyPeerAsync(to.data, to.gpu, from.data, from.gpu, bytes, queue)
              : cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDefault, queue),
          fmt::format("copying {} bytes for the {} role on {}", bytes, name_of(role_), name_));
  }

  std::unique_ptr<Scope> enter(const Stream& stream) override {
    return std::make_unique<CudaScope>(stream);
  }

  const RoleMemory& memory() const override { return *memory_; }

  std::unique_ptr<GraphRecorder> make_graph_recorder() override {
    return std::make_unique<CudaGraphRecorder>(stream_, pool_.make_graph_pool());
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
  CUgreenCtx part_ = nullptr;  // of the multiprocessors, where the plan says so
  Stream stream_;
};

}  // namespace

std::unique_ptr<RoleDevice> open_cuda_role_device(Role role, const RolePlan& plan) {
  return std::make_unique<CudaRoleDevice>(role, plan);
}

}  // namespace myxtts
