// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "device/cuda/runtime.h"
#include "kernels/cuda_kernels.h"
#include "kernels/ops/vectors.cuh"

namespace myxtts {
namespace {

using device::kVector;
using device::kWarp;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

// The sum of exp(x - most) over some numbers x of which `most` is the largest.
struct ExpSum {
  float most = -INFINITY;
  float sum = 0;
};

__device__ inline ExpSum joined(const ExpSum& a, const ExpSum& b) {
  const float most = fmaxf(a.most, b.most);
  if (most == -INFINITY) return {};
  return {most, a.sum * expf(a.most - most) + b.sum * expf(b.most - most)};
}

__device__ inline ExpSum joined_over_block(ExpSum mine) {
  __shared__ ExpSum of_warps[kWarps];
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    mine = joined(mine, {__shfl_xor_sync(0xffffffffU, mine.most, distance),
                         __shfl_xor_sync(0xffffffffU, mine.sum, distance)});
  }
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = mine;
  __syncthreads();
  ExpSum all;
  for (const auto& other : of_warps) all = joined(all, other);
  return all;
}

// Numbers beyond the last id, which share its vector, are passed over.
__device__ inline int numbers_at(std::int64_t place, std::int64_t ids) {
  return static_cast<int>(min(static_cast<std::int64_t>(kVector), ids - place));
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    measure(LogitRows rows, float* losses, float* log_sums) {
  const std::int64_t row = blockIdx.x;
  const T* logits = static_cast<const T*>(rows.logits) + row * rows.stride;
  ExpSum mine;
  for (std::int64_t place = threadIdx.x * kVector; place < rows.ids; place += kThreads * kVector) {
    float numbers[kVector];
    device::load(logits + place, numbers);
    const int count = numbers_at(place, rows.ids);
    ExpSum here;
    for (int i = 0; i < count; ++i) here.most = fmaxf(here.most, numbers[i]);
    for (int i = 0; i < count; ++i) here.sum += expf(numbers[i] - here.most);
    mine = joined(mine, here);
  }
  const ExpSum all = joined_over_block(mine);
  if (threadIdx.x != 0) return;
  const float log_sum = all.most + logf(all.sum);
  const std::int64_t target = rows.targets[row];
  log_sums[row] = log_sum;
  losses[row] = target < 0 ? 0.0F : log_sum - device::to_float(logits[target]);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    differentiate(LogitRows rows, const float* d_losses, const float* log_sums, T* d_logits) {
  const std::int64_t row = blockIdx.x;
  const T* logits = static_cast<const T*>(rows.logits) + row * rows.stride;
  const std::int64_t target = rows.targets[row];
  const float slope = target < 0 ? 0.0F : d_losses[row];
  const float log_sum = log_sums[row];
  for (std::int64_t place = threadIdx.x * kVector; place < rows.ids; place += kThreads * kVector) {
    float numbers[kVector];
    device::load(logits + place, numbers);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float probability = place + i < rows.ids ? expf(numbers[i] - log_sum) : 0.0F;
      numbers[i] =
          slope == 0.0F ? 0.0F : slope * (probability - (place + i == target ? 1.0F : 0.0F));
    }
    device::store(d_logits + row * rows.stride + place, numbers);
  }
}

}  // namespace

void cuda::cross_entropy_forward(const LogitRows& rows, float* losses, float* log_sums) {
  device::with_number(rows.number, [&](auto number) {
    measure<decltype(number)><<<static_cast<unsigned>(rows.rows), kThreads, 0, current_stream()>>>(
        rows, losses, log_sums);
  });
  check(cudaGetLastError(), "measuring cross entropies");
}

void cuda::cross_entropy_backward(const LogitRows& rows, const float* d_losses,
                                  const float* log_sums, void* d_logits) {
  device::with_number(rows.number, [&](auto number) {
    using T = decltype(number);
    differentiate<T><<<static_cast<unsigned>(rows.rows), kThreads, 0, current_stream()>>>(
        rows, d_losses, log_sums, static_cast<T*>(d_logits));
  });
  check(cudaGetLastError(), "differentiating cross entropies");
}

}  // namespace myxtts
