// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

namespace myxtts {

// Throws DeviceError with what we were `doing` unless the call of CUDA went well.
void check(cudaError_t result, const std::string& doing);
void check(CUresult result, const std::string& doing);

// For destructors: says what went wrong in the log. Silent where the driver is shutting down, since
// then everything is gone anyway.
void log_failure(cudaError_t result, const std::string& doing) noexcept;

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

}  // namespace myxtts
