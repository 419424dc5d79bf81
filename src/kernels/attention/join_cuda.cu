// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "device/cuda/runtime.h"
#include "kernels/cuda_kernels.h"
#include "kernels/ops/column_sums.cuh"
#include "kernels/ops/vectors.cuh"

namespace myxtts {
namespace {

using device::kColumnRows;
using device::kColumns;
using device::kVector;
using device::kWarp;
using device::Stored;

constexpr int kBlocksOfMultiprocessor = 4;
constexpr int kAtOnce = 4;  // rows that a thread has asked for before it uses one

// Blocks of kWarp x kColumnRows threads; parts [gridDim.y, 3 · width], or null.
template <typename T>
__global__ void __launch_bounds__(kWarp* kColumnRows, kBlocksOfMultiprocessor)
    join_columns(Join call, float* parts) {
  const std::int64_t across = 3 * call.width;
  const std::int64_t column =
      static_cast<std::int64_t>(blockIdx.x) * kColumns + threadIdx.x * kVector;
  float sums[kVector] = {};
  if (column < across) {
    const std::int64_t stretch = column / call.stretch;
    const T* from = static_cast<const T*>(call.parts[stretch % 3]) + stretch / 3 * call.stretch +
                    column % call.stretch;
    T* to = static_cast<T*>(call.joined) + column;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kColumnRows;
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kColumnRows + threadIdx.y;
         row < call.rows; row += kAtOnce * step) {
      Stored<T> held[kAtOnce] = {};
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (row + i * step < call.rows) held[i].read(from, (row + i * step) * call.width);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (row + i * step >= call.rows) break;
        float numbers[kVector];
        held[i].unpack(numbers);
#pragma unroll
        for (int n = 0; n < kVector; ++n) sums[n] += numbers[n];
        *reinterpret_cast<Stored<T>*>(to + (row + i * step) * across) = held[i];
      }
    }
  }
  if (parts != nullptr) device::write_column_part(sums, parts + blockIdx.y * across, across);
}

void join(const Join& call) {
  const std::int64_t across = 3 * call.width;
  const dim3 blocks = device::column_blocks(call.rows, across, kBlocksOfMultiprocessor);
  const Workspace sums(blocks.y * static_cast<std::size_t>(across) * sizeof(float));
  auto* to = call.sums != nullptr ? static_cast<float*>(sums.data()) : nullptr;
  device::with_number(call.number, [&](auto number) {
    using T = decltype(number);
    join_columns<T><<<blocks, dim3(kWarp, kColumnRows), 0, current_stream()>>>(call, to);
    device::sum_parts(to, static_cast<int>(blocks.y), across, static_cast<T*>(call.sums));
  });
  check(cudaGetLastError(), "joining gradients");
}

const CudaKernelRegistration<JoinKernels> kRegistered({.join = join});

}  // namespace

}  // namespace myxtts
