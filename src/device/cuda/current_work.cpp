// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/current_work.h"

#include <mutex>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include "device/cuda/check.h"

namespace myxtts {

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
