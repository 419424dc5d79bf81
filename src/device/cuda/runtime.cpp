// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/runtime.h"

#include <atomic>
#include <mutex>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "device/role_device.h"

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
  check(cudaSetDevice(device), fmt::format("turning to cuda:{}", device));
}

DeviceScope::~DeviceScope() {
  cudaSetDevice(before_);
}

cudaStream_t current_stream() {
  return c10::cuda::getCurrentCUDAStream().stream();
}

int multiprocessor_count() {
  return at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
}

bool is_recording(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  check(cudaStreamIsCapturing(stream, &status), "asking whether a graph is recorded");
  return status != cudaStreamCaptureStatusNone;
}

RandomPlace take_random_numbers(std::uint64_t count) {
  at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator();
  at::PhiloxCudaState state;
  {
    const std::lock_guard lock(generator.mutex());
    state = generator.get<at::CUDAGeneratorImpl>()->philox_cuda_state(count);
  }
  if (!state.captured_) return {.seed = state.seed_.val, .offset = state.offset_.val};
  return {.offset = state.offset_intragraph_,
          .device_seed = state.seed_.ptr,
          .device_offset = state.offset_.ptr};
}

Workspace::Workspace(std::size_t bytes)
    : data_(c10::cuda::CUDACachingAllocator::raw_alloc_with_stream(bytes, current_stream())) {}

Workspace::~Workspace() {
  c10::cuda::CUDACachingAllocator::raw_delete(data_);
}

}  // namespace myxtts
