// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/check.h"

#include <atomic>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "device/failed_device.h"

namespace myxtts {

namespace {

// After these nothing of the process works on the device any more.
bool is_lost(cudaError_t result) {
  switch (result) {
    case cudaErrorAssert:
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorMisalignedAddress:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

}  // namespace

void check(cudaError_t result, const std::string& doing) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // clears it, so that the next call does not report it again
  std::string text = fmt::format("CUDA failed while {}: {} ({}).", doing,
                                 cudaGetErrorString(result), cudaGetErrorName(result));
  if (is_lost(result)) text += fmt::format(" {}", kAfterALostDevice);
  throw DeviceError(text);
}

void check(CUresult result, const std::string& doing) {
  if (result == CUDA_SUCCESS) return;
  throw DeviceError(
      fmt::format("CUDA's driver failed while {}: error {}.", doing, static_cast<int>(result)));
}

void log_failure(cudaError_t result, const std::string& doing) noexcept {
  if (result == cudaSuccess || result == cudaErrorCudartUnloading) return;
  cudaGetLastError();
  static std::atomic<bool> said_lost = false;  // nothing can be given back then, which is said once
  if (is_lost(result) && said_lost.exchange(true)) return;
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
