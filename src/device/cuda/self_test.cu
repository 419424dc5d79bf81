// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/self_test.h"

namespace myxtts {
namespace {

constexpr unsigned kThreads = 256;

// A different number at every index, so that memory left over from before cannot look right.
__host__ __device__ std::uint32_t scramble(std::uint32_t index) {
  return (index * 2654435761U) ^ (index >> 3);
}

// Each thread stores what the thread opposite it in the block computed: a right result proves the
// threads, shared memory and the barrier.
__global__ void fill(std::uint32_t* numbers, std::uint32_t count) {
  __shared__ std::uint32_t part[kThreads];
  const std::uint32_t first = blockIdx.x * kThreads;
  const std::uint32_t opposite = kThreads - 1 - threadIdx.x;
  part[opposite] = scramble(first + opposite);
  __syncthreads();
  const std::uint32_t index = first + threadIdx.x;
  if (index < count) numbers[index] = part[threadIdx.x];
}

cudaError_t fill_and_copy(std::uint32_t* device_numbers, std::vector<std::uint32_t>& numbers) {
  const auto count = static_cast<std::uint32_t>(numbers.size());
  fill<<<(count + kThreads - 1) / kThreads, kThreads>>>(device_numbers, count);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  return cudaMemcpy(numbers.data(), device_numbers, count * sizeof(std::uint32_t),
                    cudaMemcpyDeviceToHost);
}

}  // namespace

cudaError_t run_self_test_kernel(std::vector<std::uint32_t>& numbers) {
  std::uint32_t* device_numbers = nullptr;
  const cudaError_t allocated = cudaMalloc(&device_numbers, numbers.size() * sizeof(std::uint32_t));
  if (allocated != cudaSuccess) return allocated;
  const cudaError_t ran = fill_and_copy(device_numbers, numbers);
  const cudaError_t freed = cudaFree(device_numbers);
  return ran != cudaSuccess ? ran : freed;
}

std::uint32_t expected_self_test_number(std::uint32_t index) {
  return scramble(index);
}

}  // namespace myxtts
