// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_event.h"

#include "base/error.h"
#include "device/cuda/check.h"

namespace myxtts {
namespace {

cudaStream_t native(const Stream& stream) {
  MYXTTS_CHECK(!stream.on_cpu(), "a GPU's event was used with the CPU's stream");
  return static_cast<cudaStream_t>(stream.native);
}

class CudaEvent final : public Event::State {
 public:
  CudaEvent() = default;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() override { destroy(); }

  void record(const Stream& stream) override {
    const DeviceScope on(stream.gpu);
    if (event_ == nullptr || gpu_ != stream.gpu) create(stream.gpu);
    check(cudaEventRecord(event_, native(stream)), "marking a place in a stream");
  }

  bool completed() const override {
    const cudaError_t result = cudaEventQuery(event_);
    if (result == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check(result, "asking whether a stream got to its mark");
    return true;
  }

  void hold_up(const Stream& stream) const override {
    check(cudaStreamWaitEvent(native(stream), event_, 0), "making a stream follow another");
  }

  void wait() const override { check(cudaEventSynchronize(event_), "waiting for a stream"); }

  double milliseconds_since(const State& earlier) const override {
    const auto* other = dynamic_cast<const CudaEvent*>(&earlier);
    MYXTTS_CHECK(other != nullptr && other->gpu_ == gpu_,
                 "the time between marks of different devices was asked for");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, other->event_, event_),
          "reading the time between two marks");
    return milliseconds;
  }

 private:
  void create(int gpu) {
    destroy();
    // A thread that waits sleeps: the data threads need the core.
    check(cudaEventCreateWithFlags(&event_, cudaEventBlockingSync), "making an event");
    gpu_ = gpu;
  }

  void destroy() {
    if (event_ != nullptr) log_failure(cudaEventDestroy(event_), "giving an event back");
    event_ = nullptr;
  }

  cudaEvent_t event_ = nullptr;
  int gpu_ = -1;
};

}  // namespace

Event make_cuda_event() {
  return Event(std::make_unique<CudaEvent>());
}

}  // namespace myxtts
