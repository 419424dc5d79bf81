// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "device/cuda/check.h"
#include "device/cuda/current_work.h"
#include "kernels/training/dropout.cuh"
#include "kernels/training/norm_kernels.h"
#include "kernels/training/parameter_sums.cuh"
#include "kernels/training/vectors.cuh"

// A warp holds a row in its registers, so the data is read once. kHeld: vectors of a row that each
// lane holds.
namespace myxtts {
namespace {

using device::kVector;
using device::kWarp;

constexpr int kWarps = 4;  // of a block: as many rows at a time
constexpr int kRowsOfPart = 4;
constexpr int kPartsOfMultiprocessor = 3;

template <typename T, int kHeld>
__global__ void __launch_bounds__(kWarps* kWarp)
    norm_forward(NormForward call, device::Dropout dropout) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (row >= call.rows) return;
  const std::int64_t source = call.selected != nullptr ? call.selected[row] : row;
  const T* x = static_cast<const T*>(call.x) + source * call.width;

  float held[kHeld][kVector] = {};
  float total = 0;
#pragma unroll
  for (int v = 0; v < kHeld; ++v) {
    const int column = (v * kWarp + lane) * kVector;
    if (column >= call.width) break;
    device::load(x + column, held[v]);
    if (call.branch != nullptr) {
      const std::int64_t place = row * call.width + column;
      float added[kVector];
      device::load(static_cast<const T*>(call.branch) + place, added);
      if (call.kept != nullptr) {
        const std::uint8_t kept = device::draw_kept(dropout, place / kVector);
        call.kept[place / kVector] = kept;
        device::keep(kept, dropout.scale, added);
      }
#pragma unroll
      for (int i = 0; i < kVector; ++i) held[v][i] = device::rounded<T>(held[v][i] + added[i]);
      device::store(static_cast<T*>(call.sum) + place, held[v]);
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) total += held[v][i];
  }
  const float count = static_cast<float>(call.width);
  const float mean = device::sum_of_warp(total) / count;

  float squares = 0;
#pragma unroll
  for (int v = 0; v < kHeld; ++v) {
    if ((v * kWarp + lane) * kVector >= call.width) break;
#pragma unroll
    for (int i = 0; i < kVector; ++i) squares += (held[v][i] - mean) * (held[v][i] - mean);
  }
  const float variance = device::sum_of_warp(squares) / count;
  const float inverse = rsqrtf(variance + static_cast<float>(call.epsilon));
  if (lane == 0) {
    call.mean[row] = mean;
    call.inverse[row] = inverse;
  }
#pragma unroll
  for (int v = 0; v < kHeld; ++v) {
    const int column = (v * kWarp + lane) * kVector;
    if (column >= call.width) break;
    float weight[kVector];
    float bias[kVector];
    device::load(static_cast<const T*>(call.weight) + column, weight);
    device::load(static_cast<const T*>(call.bias) + column, bias);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      held[v][i] = (held[v][i] - mean) * inverse * weight[i] + bias[i];
    }
    device::store(static_cast<T*>(call.normed) + row * call.width + column, held[v]);
  }
}

// The sums over a block's rows of d_normed · normalised and of d_normed.
template <int kHeld>
struct WeightSums {
  float weight[kHeld][kVector] = {};
  float bias[kHeld][kVector] = {};
};

// What a lane holds of a row, as it is stored: half the registers of fp32. All of it is asked for
// before any of it is used, so that the reads wait for memory together.
template <typename T, int kHeld>
struct BackwardRow {
  device::Stored<T> x[kHeld];
  device::Stored<T> slope[kHeld];
  device::Stored<T> past[kHeld];
  std::uint8_t kept[kHeld];
};

template <typename T, int kHeld>
__device__ inline BackwardRow<T, kHeld> read_row(const NormBackward& call, std::int64_t row,
                                                 std::int64_t target) {
  BackwardRow<T, kHeld> held = {};
#pragma unroll
  for (int v = 0; v < kHeld; ++v) {
    const int column = (v * kWarp + static_cast<int>(threadIdx.x) % kWarp) * kVector;
    if (column >= call.width) continue;
    const std::int64_t place = target * call.width + column;
    held.x[v].read(call.sum, place);
    held.slope[v].read(call.d_normed, row * call.width + column);
    if (call.d_sum != nullptr) held.past[v].read(call.d_sum, place);
    if (call.kept != nullptr) held.kept[v] = call.kept[place / kVector];
  }
  return held;
}

// With n the normalised row, g = d_normed · weight: dx = (g - mean(g) - n · mean(g · n)) /
// deviation, and what comes past the norm besides.
template <typename T, int kHeld>
__device__ inline void differentiate_row(const NormBackward& call, const device::Dropout& dropout,
                                         std::int64_t row, WeightSums<kHeld>& sums) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t target = call.selected != nullptr ? call.selected[row] : row;
  auto held = read_row<T, kHeld>(call, row, target);
  const float mean = call.mean[row];
  const float inverse = call.inverse[row];

  float total = 0;
  float total_normed = 0;
#pragma unroll
  for (int v = 0; v < kHeld; ++v) {
    const int column = (v * kWarp + lane) * kVector;
    if (column >= call.width) break;
    float weight[kVector];
    float x[kVector];
    float slope[kVector];
    device::load(static_cast<const T*>(call.weight) + column, weight);
    held.x[v].unpack(x);
    held.slope[v].unpack(slope);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float normed = (x[i] - mean) * inverse;
      sums.weight[v][i] += slope[i] * normed;
      sums.bias[v][i] += slope[i];
      total += slope[i] * weight[i];
      total_normed += slope[i] * weight[i] * normed;
    }
    held.x[v].forget_unpacked();
    held.slope[v].forget_unpacked();
  }
  const float count = static_cast<float>(call.width);
  const float mean_slope = device::sum_of_warp(total) / count;
  const float mean_slope_normed = device::sum_of_warp(total_normed) / count;
  // Row 0 among selected ones is padding; several of them may be.
  if (call.selected != nullptr && target == 0) return;

#pragma unroll
  for (int v = 0; v < kHeld; ++v) {
    const int column = (v * kWarp + lane) * kVector;
    if (column >= call.width) break;
    const std::int64_t place = target * call.width + column;
    float weight[kVector];
    float x[kVector];
    float slope[kVector];
    float dx[kVector];
    device::load(static_cast<const T*>(call.weight) + column, weight);
    held.x[v].unpack(x);
    held.slope[v].unpack(slope);
    held.past[v].unpack(dx);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float normed = (x[i] - mean) * inverse;
      dx[i] += inverse * (slope[i] * weight[i] - mean_slope - normed * mean_slope_normed);
    }
    device::store(static_cast<T*>(call.dx) + place, dx);
    if (call.kept != nullptr) {
      device::keep(held.kept[v], dropout.scale, dx);
      device::store(static_cast<T*>(call.d_branch) + place, dx);
    }
  }
}

template <int kHeld>
__device__ inline void write_part(const float (&sums)[kHeld][kVector], float* shared, float* part,
                                  std::int64_t width) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int v = 0; v < kHeld; ++v) {
    const int column = (v * kWarp + lane) * kVector;
    if (column >= width) break;
    device::store(shared + warp * width + column, sums[v]);
  }
  __syncthreads();
  for (std::int64_t column = threadIdx.x; column < width; column += kWarps * kWarp) {
    float total = 0;
    for (int other = 0; other < kWarps; ++other) total += shared[other * width + column];
    part[column] = total;
  }
  __syncthreads();
}

// Fewer blocks where so many would have to keep part of a row outside of their registers.
template <typename T, int kHeld>
constexpr int kResidentParts = sizeof(T) * kHeld <= 8 ? kPartsOfMultiprocessor : 1;

// parts [gridDim.x, 2, width]
template <typename T, int kHeld>
__global__ void __launch_bounds__(kWarps* kWarp, (kResidentParts<T, kHeld>))
    norm_backward(NormBackward call, device::Dropout dropout, float* parts) {
  extern __shared__ float4 shared_memory[];
  auto* shared = reinterpret_cast<float*>(shared_memory);
  WeightSums<kHeld> sums;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
       row < call.rows; row += step) {
    differentiate_row<T, kHeld>(call, dropout, row, sums);
  }
  float* part = parts + 2 * static_cast<std::int64_t>(blockIdx.x) * call.width;
  write_part(sums.weight, shared, part, call.width);
  write_part(sums.bias, shared, part + call.width, call.width);
}

// Calls `run` with how many vectors of a row a lane holds, as a constant.
template <typename Run>
void with_held(std::int64_t width, const Run& run) {
  const std::int64_t held = (width + kWarp * kVector - 1) / (kWarp * kVector);
  if (held <= 1) return run(std::integral_constant<int, 1>{});
  if (held <= 2) return run(std::integral_constant<int, 2>{});
  if (held <= 4) return run(std::integral_constant<int, 4>{});
  run(std::integral_constant<int, 8>{});
}

void forward(const NormForward& call) {
  const auto dropout = device::make_dropout(call.kept != nullptr ? call.dropout : 0.0);
  const auto blocks = static_cast<unsigned>((call.rows + kWarps - 1) / kWarps);
  device::with_number(call.number, [&](auto number) {
    with_held(call.width, [&](auto held) {
      norm_forward<decltype(number), decltype(held)::value>
          <<<blocks, kWarps * kWarp, 0, current_stream()>>>(call, dropout);
    });
  });
  check(cudaGetLastError(), "normalising rows");
}

void backward(const NormBackward& call) {
  device::Dropout dropout;
  dropout.scale = device::dropout_scale(device::dropout_threshold(call.dropout));
  const std::int64_t most = kPartsOfMultiprocessor * multiprocessor_count();
  const auto parts = static_cast<unsigned>(
      std::clamp<std::int64_t>((call.rows + kRowsOfPart - 1) / kRowsOfPart, 1, most));
  const auto width = static_cast<std::size_t>(call.width);
  const Workspace sums(parts * 2 * width * sizeof(float));
  const std::size_t shared = kWarps * width * sizeof(float);
  device::with_number(call.number, [&](auto number) {
    using T = decltype(number);
    with_held(call.width, [&](auto held) {
      norm_backward<T, decltype(held)::value><<<parts, kWarps * kWarp, shared, current_stream()>>>(
          call, dropout, static_cast<float*>(sums.data()));
    });
    device::sum_parts(static_cast<const float*>(sums.data()), static_cast<int>(parts), call.width,
                      static_cast<T*>(call.d_weight), static_cast<T*>(call.d_bias));
  });
  check(cudaGetLastError(), "differentiating a norm");
}

const CudaKernelRegistration<NormKernels> kRegistered({.forward = forward, .backward = backward});

}  // namespace
}  // namespace myxtts
