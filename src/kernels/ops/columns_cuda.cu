// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "device/cuda/runtime.h"
#include "kernels/cuda_kernels.h"
#include "kernels/ops/column_sums.cuh"
#include "kernels/ops/vectors.cuh"

// Passes over matrices that sum the columns on the way.

namespace myxtts {
namespace {

using device::kColumnRows;
using device::kColumns;
using device::kVector;
using device::kWarp;
using device::Stored;

// Blocks on each multiprocessor.
constexpr int kGeluBlocks = 6;
constexpr int kSumBlocks = 4;
constexpr int kJoinBlocks = 4;
constexpr int kAtOnce = 4;  // rows that a thread has requested before it uses one

// With s the logistic function of 2u, u = √(2/π) · (x + 0.044715 x³): gelu(x) = x · s.
__device__ inline float gelu_slope(float x) {
  constexpr float kTwiceRoot = 1.5957691216057308F;  // 2 · √(2/π)
  constexpr float kCubic = 0.044715F;
  const float square = x * x;
  const float s = __fdividef(1.0F, 1.0F + __expf(-kTwiceRoot * x * (1.0F + kCubic * square)));
  return s + x * s * (1.0F - s) * kTwiceRoot * (1.0F + 3.0F * kCubic * square);
}

// Blocks of kWarp x kColumnRows threads; parts [gridDim.y, width], or null.
template <typename T>
__global__ void __launch_bounds__(kWarp* kColumnRows, kGeluBlocks)
    gelu_backward_kernel(GeluBackward call, float* parts) {
  const std::int64_t column =
      static_cast<std::int64_t>(blockIdx.x) * kColumns + threadIdx.x * kVector;
  float sums[kVector] = {};
  if (column < call.width) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kColumnRows;
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kColumnRows + threadIdx.y;
         row < call.rows; row += step) {
      const std::int64_t place = row * call.width + column;
      float x[kVector];
      float slope[kVector];
      device::load(static_cast<const T*>(call.before) + place, x);
      device::load(static_cast<const T*>(call.slopes) + place, slope);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        slope[i] *= gelu_slope(x[i]);
        sums[i] += slope[i];
      }
      device::store(static_cast<T*>(call.slopes) + place, slope);
    }
  }
  if (parts != nullptr) {
    device::write_column_part(sums, parts + blockIdx.y * call.width, call.width);
  }
}

// Blocks of kWarp x kColumnRows threads; parts [gridDim.y, width].
template <typename T>
__global__ void __launch_bounds__(kWarp* kColumnRows, kSumBlocks)
    add_columns(ColumnTotals call, float* parts) {
  const std::int64_t column =
      static_cast<std::int64_t>(blockIdx.x) * kColumns + threadIdx.x * kVector;
  float sums[kVector] = {};
  if (column < call.width) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kColumnRows;
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kColumnRows + threadIdx.y;
         row < call.rows; row += kAtOnce * step) {
      Stored<T> held[kAtOnce] = {};
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (row + i * step < call.rows) {
          held[i].read(call.numbers, (row + i * step) * call.width + column);
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        float numbers[kVector];
        held[i].unpack(numbers);
#pragma unroll
        for (int n = 0; n < kVector; ++n) sums[n] += numbers[n];
      }
    }
  }
  device::write_column_part(sums, parts + blockIdx.y * call.width, call.width);
}

// Blocks of kWarp x kColumnRows threads; parts [gridDim.y, 3 · width], or null.
template <typename T>
__global__ void __launch_bounds__(kWarp* kColumnRows, kJoinBlocks)
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

}  // namespace

void cuda::gelu_backward(const GeluBackward& call) {
  const dim3 blocks = device::column_blocks(call.rows, call.width, kGeluBlocks);
  const Workspace sums(blocks.y * static_cast<std::size_t>(call.width) * sizeof(float));
  auto* to = call.d_bias != nullptr ? static_cast<float*>(sums.data()) : nullptr;
  device::with_number(call.number, [&](auto number) {
    using T = decltype(number);
    gelu_backward_kernel<T><<<blocks, dim3(kWarp, kColumnRows), 0, current_stream()>>>(call, to);
    device::sum_parts(to, static_cast<int>(blocks.y), call.width, static_cast<T*>(call.d_bias));
  });
  check(cudaGetLastError(), "differentiating gelu");
}

void cuda::sum_columns(const ColumnTotals& call) {
  const dim3 blocks = device::column_blocks(call.rows, call.width, kSumBlocks);
  const Workspace sums(blocks.y * static_cast<std::size_t>(call.width) * sizeof(float));
  auto* parts = static_cast<float*>(sums.data());
  device::with_number(call.number, [&](auto number) {
    using T = decltype(number);
    add_columns<T><<<blocks, dim3(kWarp, kColumnRows), 0, current_stream()>>>(call, parts);
    device::sum_parts(parts, static_cast<int>(blocks.y), call.width, static_cast<T*>(call.totals));
  });
  check(cudaGetLastError(), "summing columns");
}

void cuda::join(const Join& call) {
  const std::int64_t across = 3 * call.width;
  const dim3 blocks = device::column_blocks(call.rows, across, kJoinBlocks);
  const Workspace sums(blocks.y * static_cast<std::size_t>(across) * sizeof(float));
  auto* to = call.sums != nullptr ? static_cast<float*>(sums.data()) : nullptr;
  device::with_number(call.number, [&](auto number) {
    using T = decltype(number);
    join_columns<T><<<blocks, dim3(kWarp, kColumnRows), 0, current_stream()>>>(call, to);
    device::sum_parts(to, static_cast<int>(blocks.y), across, static_cast<T*>(call.sums));
  });
  check(cudaGetLastError(), "joining gradients");
}

}  // namespace myxtts
