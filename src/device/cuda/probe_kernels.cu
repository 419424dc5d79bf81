// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/probe_kernels.h"

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

namespace {

constexpr unsigned kMost = 1024;       // multiprocessors of any GPU
constexpr unsigned kBlocks = 8192;     // many waves, so that no multiprocessor stays without one
constexpr long long kCycles = 20'000;  // that a block stays, so that the others go elsewhere

__global__ void mark(int* seen) {
  unsigned id = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  if (threadIdx.x == 0 && id < kMost) seen[id] = 1;
  const long long begin = clock64();
  while (clock64() - begin < kCycles) {
  }
}

cudaError_t run(cudaStream_t stream, int* seen, std::vector<int>& flags) {
  const std::size_t bytes = flags.size() * sizeof(int);
  cudaError_t error = cudaMemsetAsync(seen, 0, bytes, stream);
  if (error != cudaSuccess) return error;
  mark<<<kBlocks, 256, 0, stream>>>(seen);
  error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  error = cudaMemcpyAsync(flags.data(), seen, bytes, cudaMemcpyDeviceToHost, stream);
  return error != cudaSuccess ? error : cudaStreamSynchronize(stream);
}

}  // namespace

cudaError_t probe_multiprocessors(cudaStream_t stream, std::vector<int>& found) {
  int* seen = nullptr;
  std::vector<int> flags(kMost);
  const cudaError_t allocated = cudaMalloc(&seen, flags.size() * sizeof(int));
  if (allocated != cudaSuccess) return allocated;
  const cudaError_t ran = run(stream, seen, flags);
  const cudaError_t freed = cudaFree(seen);
  for (unsigned id = 0; id < kMost; ++id) {
    if (flags[id] != 0) found.push_back(static_cast<int>(id));
  }
  return ran != cudaSuccess ? ran : freed;
}

}  // namespace myxtts
