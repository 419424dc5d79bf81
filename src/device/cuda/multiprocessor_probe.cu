// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/multiprocessor_probe.h"

namespace myxtts {
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
