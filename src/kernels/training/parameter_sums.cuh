// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/cuda/current_work.h"
#include "kernels/training/vectors.cuh"

// The gradients of weights and biases of rows from partial sums, always in the same order.
namespace myxtts::device {

inline constexpr int kSumRows = 16;

// parts [part_count, gridDim.y, width]. Blocks of kWarp x kSumRows threads; blockIdx.y: 0 the first
// sum, 1 the second.
template <typename T>
__global__ void sum_parts_of_columns(const float* parts, int part_count, std::int64_t width,
                                     T* first, T* second) {
  __shared__ float shared[kSumRows][kWarp + 1];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + threadIdx.x;
  float total = 0;
  if (column < width) {
    for (int part = static_cast<int>(threadIdx.y); part < part_count; part += kSumRows) {
      total += parts[(static_cast<std::int64_t>(part) * gridDim.y + blockIdx.y) * width + column];
    }
  }
  shared[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  T* to = blockIdx.y == 0 ? first : second;
  if (threadIdx.y != 0 || column >= width || to == nullptr) return;
  for (int other = 1; other < kSumRows; ++other) total += shared[other][threadIdx.x];
  to[column] = from_float<T>(total);
}

// parts [part_count, 2, width]: of the weight, of the bias. Either may be null: not wanted.
template <typename T>
void sum_parts(const float* parts, int part_count, std::int64_t width, T* d_weight, T* d_bias) {
  if (d_weight == nullptr && d_bias == nullptr) return;
  const dim3 blocks(static_cast<unsigned>((width + kWarp - 1) / kWarp), 2);
  sum_parts_of_columns<T><<<blocks, dim3(kWarp, kSumRows), 0, current_stream()>>>(
      parts, part_count, width, d_weight, d_bias);
}

// parts [part_count, width]: of one vector; null: not wanted.
template <typename T>
void sum_parts(const float* parts, int part_count, std::int64_t width, T* sums) {
  if (sums == nullptr) return;
  const dim3 blocks(static_cast<unsigned>((width + kWarp - 1) / kWarp));
  sum_parts_of_columns<T><<<blocks, dim3(kWarp, kSumRows), 0, current_stream()>>>(
      parts, part_count, width, sums, nullptr);
}

}  // namespace myxtts::device
