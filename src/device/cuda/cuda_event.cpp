// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_event.h"

#include <utility>

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

}  // namespace

Event make_cuda_event(std::string device) {
  return Event(std::make_unique<CudaEvent>(std::move(device)));
}

}  // namespace myxtts
