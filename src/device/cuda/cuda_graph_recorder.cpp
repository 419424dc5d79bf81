// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_graph_recorder.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/MemPool.h>
#include <c10/cuda/CUDAGuard.h>

#include "base/log.h"
#include "device/cuda/runtime.h"

namespace myxtts {
namespace {

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

// LibTorch's default generator, made to draw from a state that is known here: a place in it can be
// set while a graph is recorded, which the generator itself refuses.
class KnownGenerator {
 public:
  explicit KnownGenerator(int gpu)
      : state_(c10::make_intrusive<at::CUDAGeneratorState>()),
        default_(at::cuda::detail::getDefaultCUDAGenerator(static_cast<c10::DeviceIndex>(gpu))),
        before_(default_.graphsafe_get_state()) {
    default_.graphsafe_set_state(at::Generator(
        c10::make_intrusive<at::CUDAGeneratorImpl>(static_cast<c10::DeviceIndex>(gpu), state_)));
  }
  KnownGenerator(const KnownGenerator&) = delete;
  KnownGenerator& operator=(const KnownGenerator&) = delete;
  ~KnownGenerator() { default_.graphsafe_set_state(before_); }

  std::uint64_t place() const { return state_->offset_intragraph_; }
  void go_to(std::uint64_t place) { state_->offset_intragraph_ = place; }

 private:
  const c10::intrusive_ptr<at::CUDAGeneratorState> state_;
  at::Generator default_;
  const at::Generator before_;
};

class CudaGraphRecorder final : public GraphRecorder {
 public:
  CudaGraphRecorder(const Stream& stream, at::cuda::MempoolId_t pool)
      : gpu_(stream.gpu),
        stream_(c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(stream.native),
                                                 static_cast<c10::DeviceIndex>(stream.gpu))),
        pool_(pool),
        generator_(stream.gpu) {}

  std::unique_ptr<RecordedGraph> record(const std::function<void()>& work) override {
    const DeviceScope on(gpu_);
    auto graph = std::make_unique<CudaGraph>(gpu_, stream_);
    graph->record(pool_, work);
    return graph;
  }

  std::uint64_t random_place() const override { return generator_.place(); }
  void go_to(std::uint64_t place) override { generator_.go_to(place); }

 private:
  const int gpu_;
  const c10::cuda::CUDAStream stream_;
  const at::cuda::MempoolId_t pool_;
  KnownGenerator generator_;
};

}  // namespace

std::unique_ptr<GraphRecorder> make_cuda_graph_recorder(const Stream& stream,
                                                        at::cuda::MempoolId_t pool) {
  return std::make_unique<CudaGraphRecorder>(stream, pool);
}

}  // namespace myxtts
