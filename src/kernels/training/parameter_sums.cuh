// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/cuda/current_work.h"
#include "kernels/training/vectors.cuh"

// The gradients of weights and biases of rows from partial sums, always in the same order.
namespace myxtts::device {

inline constexpr int kSumRows = 16;

// Where the sums of each kind go; null: not wanted.
template <typename T, int kKinds>
struct SumTargets {
  T* of[kKinds];
};

// parts [part_count, kKinds, width]. Blocks of kWarp x kSumRows threads; blockIdx.y: the kind.
template <typename T, int kKinds>
__global__ void sum_parts_of_columns(const float* parts, int part_count, std::int64_t width,
                                     SumTargets<T, kKinds> targets) {
  __shared__ float shared[kSumRows][kWarp + 1];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  float total = 0;
  if (column < width) {
#pragma unroll 4
    for (int part = static_cast<int>(threadIdx.y); part < part_count; part += kSumRows) {
      total += parts[(static_cast<std::int64_t>(part) * kKinds + blockIdx.y) * width + column];
    }
  }
  shared[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  T* to = targets.of[blockIdx.y];
  if (threadIdx.y != 0 || column >= width || to == nullptr) return;
  for (int other = 1; other < kSumRows; ++other) total += shared[other][threadIdx.x];
  to[column] = from_float<T>(total);
}

// parts [part_count, kinds, width], one kind for each target.
template <typename T, typename... Targets>
void sum_parts(const float* parts, int part_count, std::int64_t width, T* first, Targets*... more) {
  constexpr int kKinds = 1 + sizeof...(more);
  if (first == nullptr && (... && (more == nullptr))) return;
  const dim3 blocks(static_cast<unsigned>((width + kWarp - 1) / kWarp), kKinds);
  sum_parts_of_columns<T, kKinds><<<blocks, dim3(kWarp, kSumRows), 0, current_stream()>>>(
      parts, part_count, width, {{first, more...}});
}

}  // namespace myxtts::device
