// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "device/cuda/check.h"
#include "device/cuda/current_work.h"
#include "kernels/training/gelu_kernels.h"
#include "kernels/training/parameter_sums.cuh"
#include "kernels/training/vectors.cuh"

// A warp has a stretch of a row, the warps of a block different rows of the same columns: a thread
// stays with its columns, so their sums stay in its registers.
namespace myxtts {
namespace {

using device::kVector;
using device::kWarp;

constexpr int kRows = 8;  // of a block at a time
constexpr int kColumns = kWarp * kVector;
constexpr int kBlocksOfMultiprocessor = 6;

// With s the logistic function of 2u, u = √(2/π) · (x + 0.044715 x³): gelu(x) = x · s.
__device__ inline float gelu_slope(float x) {
  constexpr float kTwiceRoot = 1.5957691216057308F;  // 2 · √(2/π)
  constexpr float kCubic = 0.044715F;
  const float square = x * x;
  const float s = __fdividef(1.0F, 1.0F + __expf(-kTwiceRoot * x * (1.0F + kCubic * square)));
  return s + x * s * (1.0F - s) * kTwiceRoot * (1.0F + 3.0F * kCubic * square);
}

// The sums of a block's rows, in the order of its warps.
__device__ inline void write_part(const float (&sums)[kVector], float* part, std::int64_t width) {
  __shared__ float4 memory[kRows * kColumns / 4];
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
  for (int row = 0; row < kRows; ++row) total += shared[row * kColumns + place];
  part[column] = total;
}

// Blocks of kWarp x kRows threads; parts [gridDim.y, width], or null.
template <typename T>
__global__ void __launch_bounds__(kWarp* kRows, kBlocksOfMultiprocessor)
    gelu_backward(GeluBackward call, float* parts) {
  static_assert(kWarp * kRows == kColumns, "a thread writes the sum of one column");
  const std::int64_t column =
      static_cast<std::int64_t>(blockIdx.x) * kColumns + threadIdx.x * kVector;
  float sums[kVector] = {};
  if (column < call.width) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kRows;
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kRows + threadIdx.y;
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
  if (parts != nullptr) write_part(sums, parts + blockIdx.y * call.width, call.width);
}

void backward(const GeluBackward& call) {
  const std::int64_t across = (call.width + kColumns - 1) / kColumns;
  const std::int64_t most = kBlocksOfMultiprocessor * multiprocessor_count() / across;
  const std::int64_t parts =
      std::clamp<std::int64_t>((call.rows + kRows - 1) / kRows, 1, std::max<std::int64_t>(most, 1));
  const dim3 blocks(static_cast<unsigned>(across), static_cast<unsigned>(parts));
  const Workspace sums(static_cast<std::size_t>(parts * call.width) * sizeof(float));
  auto* to = call.d_bias != nullptr ? static_cast<float*>(sums.data()) : nullptr;
  device::with_number(call.number, [&](auto number) {
    using T = decltype(number);
    gelu_backward<T><<<blocks, dim3(kWarp, kRows), 0, current_stream()>>>(call, to);
    device::sum_parts(to, static_cast<int>(parts), call.width, static_cast<T*>(call.d_bias));
  });
  check(cudaGetLastError(), "differentiating gelu");
}

const CudaKernelRegistration<GeluKernels> kRegistered({.backward = backward});

}  // namespace
}  // namespace myxtts
