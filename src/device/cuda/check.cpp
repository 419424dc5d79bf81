// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/check.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"

namespace myxtts {

void check(cudaError_t result, const std::string& doing) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // clears it, so that the next call does not report it again
  throw DeviceError(fmt::format("CUDA failed while {}: {} ({}).", doing, cudaGetErrorString(result),
                                cudaGetErrorName(result)));
}

void check(CUresult result, const std::string& doing) {
  if (result == CUDA_SUCCESS) return;
  throw DeviceError(
      fmt::format("CUDA's driver failed while {}: error {}.", doing, static_cast<int>(result)));
}

void log_failure(cudaError_t result, const std::string& doing) noexcept {
  if (result == cudaSuccess || result == cudaErrorCudartUnloading) return;
  cudaGetLastError();
  try {
    log_warning("device", "CUDA failed while {}: {}", doing, cudaGetErrorString(result));
  } catch (...) {  // NOLINT(bugprone-empty-catch): nowhere is left to say it
  }
}

DeviceScope::DeviceScope(int device) {
  check(cudaGetDevice(&before_), "asking for the current device");
  check(cudaSetDevice(device), fmt::format("turning to GPU {}", device));
}

DeviceScope::~DeviceScope() {
  cudaSetDevice(before_);
}

}  // namespace myxtts
