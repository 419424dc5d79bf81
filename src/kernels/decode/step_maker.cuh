// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "device/cuda/runtime.h"
#include "kernels/decode/code_decoder.h"
#include "kernels/decode/decode_kernels.cuh"

namespace myxtts {

// `count` numbers on the current GPU, or in host memory that the GPU writes to as well.
template <typename T>
class CudaArray {
 public:
  enum class Where { Device, MappedHost };

  CudaArray() = default;
  explicit CudaArray(std::int64_t count, Where where = Where::Device);
  CudaArray(CudaArray&& other) noexcept { *this = std::move(other); }
  CudaArray& operator=(CudaArray&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(host_, other.host_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~CudaArray() {
    if (host_ != nullptr) {
      cudaFreeHost(host_);
    } else {
      cudaFree(device_);
    }
  }

  T* get() const { return device_; }
  T* host() const { return host_; }
  std::int64_t count() const { return count_; }
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }

 private:
  T* device_ = nullptr;
  T* host_ = nullptr;
  std::int64_t count_ = 0;
};

template <typename T>
CudaArray<T>::CudaArray(std::int64_t count, Where where) : count_(count) {
  if (where == Where::Device) {
    check(cudaMalloc(reinterpret_cast<void**>(&device_), bytes()),
          "reserving " + std::to_string(bytes()) + " bytes for decoding");
    return;
  }
  const std::string doing = "reserving host memory for decoding";
  check(cudaHostAlloc(reinterpret_cast<void**>(&host_), bytes(), cudaHostAllocMapped), doing);
  check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_), host_, 0), doing);
}

// What a step is computed with. One for each method and precision.
class StepMaker {
 public:
  virtual ~StepMaker() = default;
  virtual void load_prefix(std::int64_t row, std::int64_t layer, const float* keys,
                           const float* values, std::int64_t length) = 0;
  virtual void start() = 0;  // before a row's first step
  virtual void step() = 0;
  virtual void copy_rows(const std::vector<std::int64_t>& from) = 0;
};

// The one that the options ask for, with copies of the weights. Throws DeviceError when the method
// cannot be used on the device.
std::unique_ptr<StepMaker> make_step_maker(const CodeDecoderOptions& options,
                                           const CodeDecoderWeights& weights,
                                           const RowTables& tables, cudaStream_t stream);

}  // namespace myxtts
