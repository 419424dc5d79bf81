// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda/runtime.h"
#include "kernels/ops/vectors.cuh"

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

// Passes over a matrix that sum its columns on the way. A warp has a stretch of a row, the warps of
// a block different rows of the same columns: a thread stays with its columns, so their sums stay
// in its registers.

namespace myxtts::device {

inline constexpr int kColumnRows = 8;  // of a block at a time
inline constexpr int kColumns = kWarp * kVector;
static_assert(kWarp * kColumnRows == kColumns, "a thread writes the sum of one column");

// Blocks that fill the GPU: x over the columns, y over the rows.
inline dim3 column_blocks(std::int64_t rows, std::int64_t width, int blocks_of_multiprocessor) {
  const std::int64_t across = (width + kColumns - 1) / kColumns;
  const std::int64_t most =
      std::max<std::int64_t>(blocks_of_multiprocessor * multiprocessor_count() / across, 1);
  const std::int64_t down =
      std::clamp<std::int64_t>((rows + kColumnRows - 1) / kColumnRows, 1, most);
  return {static_cast<unsigned>(across), static_cast<unsigned>(down)};
}

// The sums of a block's rows, in the order of its warps: part [width].
__device__ inline void write_column_part(const float (&sums)[kVector], float* part,
                                         std::int64_t width) {
  __shared__ float4 memory[kColumnRows * kColumns / 4];
  auto* shared = reinterpret_cast<float*>(memory);
  float* own = shared + threadIdx.y * kColumns + threadIdx.x * kVector;
#pragma unroll
  for (int i = 0; i < kVector; ++i) own[i] = sums[i];
  __syncthreads();
  const int place = static_cast<int>(threadIdx.y * kWarp + threadIdx.x);
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kColumns + place;
  if (column >= width) return;
  float total = 0;
#pragma unroll
  for (int row = 0; row < kColumnRows; ++row) total += shared[row * kColumns + place];
  part[column] = total;
}

}  // namespace myxtts::device
