// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace myxtts {

// Throws DeviceError with what we were `doing` unless the call of CUDA went well.
void check(cudaError_t result, const std::string& doing);
void check(CUresult result, const std::string& doing);

// For destructors: says what went wrong in the log. Silent where the driver is shutting down, since
// then everything is gone anyway.
void log_failure(cudaError_t result, const std::string& doing) noexcept;

// A handle of one of CUDA's libraries that is destroyed with its scope.
template <typename T, auto kDestroy>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (object_ != nullptr) kDestroy(object_);
  }
  T* out() { return &object_; }
  T get() const { return object_; }

 private:
  T object_ = nullptr;
};

// Makes a device the current one of this thread until the end of the scope.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope();

 private:
  int before_ = 0;
};

// What kernels of ours share with LibTorch's around them: the stream, the memory and the random
// numbers of the current GPU, so that they may stand in a CUDA graph between LibTorch's.

cudaStream_t current_stream();

int multiprocessor_count();

// Whether `stream` is being recorded as a graph.
bool is_recording(cudaStream_t stream);

// A place in the random numbers of LibTorch's generator: a seed and an offset. While a graph is
// recorded they are read from the device at each replay, so that it draws new numbers.
struct RandomPlace {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;                     // of the graph's begin while one is recorded
  const std::int64_t* device_seed = nullptr;    // null: as above
  const std::int64_t* device_offset = nullptr;  // added to `offset`
};

// Takes `count` numbers of each of any number of subsequences. A multiple of four.
RandomPlace take_random_numbers(std::uint64_t count);

// Memory of the current GPU for work that is queued on the current stream before this object ends.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes);
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace myxtts
