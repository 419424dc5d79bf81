// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "device/cuda/check.h"
#include "device/cuda/current_work.h"
#include "kernels/training/dropout.cuh"
#include "kernels/training/norm_kernels.h"
#include "kernels/training/parameter_sums.cuh"
#include "kernels/training/vectors.cuh"

// A row is the work of a team: as many whole warps as give each vector of the row a thread. So a
// row is read once, all of it at the same time, and little of it is in each thread's registers.
namespace myxtts {
namespace {

using device::kVector;
using device::kWarp;
using device::Stored;

constexpr int kMostWarps = kNormWidest / kVector / kWarp;  // of a team
constexpr int kThreads = kMostWarps * kWarp;               // of a block of the backward pass
// As many as keep what they hold of a row in registers.
constexpr int kPartsOfMultiprocessor = 2;

unsigned team_threads(std::int64_t width) {
  return static_cast<unsigned>((width + kVector * kWarp - 1) / (kVector * kWarp)) * kWarp;
}

// The sum over a block's threads, of a block that is one team.
__device__ inline float sum_of_block(float number, float (&of_warps)[kMostWarps]) {
  const float of_warp = device::sum_of_warp(number);
  if (blockDim.x == kWarp) return of_warp;
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = of_warp;
  __syncthreads();
  float total = 0;
  for (unsigned warp = 0; warp < blockDim.x / kWarp; ++warp) total += of_warps[warp];
  return total;
}

// x + dropout(branch) as it is stored, with the sum and the mask written; x alone without branch.
template <typename T>
__device__ inline void read_sum(const NormForward& call, const device::Dropout& dropout,
                                std::int64_t row, int column, float (&sum)[kVector]) {
  const std::int64_t source = call.selected != nullptr ? call.selected[row] : row;
  const std::int64_t place = row * call.width + column;
  Stored<T> x;
  Stored<T> branch;
  x.read(call.x, source * call.width + column);
  if (call.branch != nullptr) branch.read(call.branch, place);
  x.unpack(sum);
  if (call.branch == nullptr) return;
  float added[kVector];
  branch.unpack(added);
  if (call.kept != nullptr) {
    const std::uint8_t kept = device::draw_kept(dropout, place / kVector);
    call.kept[place / kVector] = kept;
    device::keep(kept, dropout.scale, added);
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i) sum[i] = device::rounded<T>(sum[i] + added[i]);
  device::store(static_cast<T*>(call.sum) + place, sum);
}

// One block for each row.
template <typename T>
__global__ void __launch_bounds__(kMostWarps* kWarp)
    norm_forward(NormForward call, device::Dropout dropout) {
  __shared__ float sums[kMostWarps];
  __shared__ float squares[kMostWarps];
  const std::int64_t row = blockIdx.x;
  const int column = static_cast<int>(threadIdx.x) * kVector;
  const bool inside = column < call.width;

  float held[kVector] = {};
  Stored<T> weight = {};
  Stored<T> bias = {};
  if (inside) {
    weight.read(call.weight, column);
    bias.read(call.bias, column);
    read_sum<T>(call, dropout, row, column, held);
  }
  float total = 0;
#pragma unroll
  for (int i = 0; i < kVector; ++i) total += held[i];
  const float count = static_cast<float>(call.width);
  const float mean = sum_of_block(total, sums) / count;

  float square = 0;
#pragma unroll
  for (int i = 0; i < kVector; ++i) square += (held[i] - mean) * (held[i] - mean);
  const float variance = sum_of_block(inside ? square : 0.0F, squares) / count;
  const float inverse = rsqrtf(variance + static_cast<float>(call.epsilon));
  if (threadIdx.x == 0) {
    call.mean[row] = mean;
    call.inverse[row] = inverse;
  }
  if (!inside) return;
  float scale[kVector];
  float shift[kVector];
  weight.unpack(scale);
  bias.unpack(shift);
#pragma unroll
  for (int i = 0; i < kVector; ++i) held[i] = (held[i] - mean) * inverse * scale[i] + shift[i];
  device::store(static_cast<T*>(call.normed) + row * call.width + column, held);
}

// A thread's sums over its team's rows.
struct ColumnSums {
  float weight[kVector] = {};  // of d_normed · normalised
  float bias[kVector] = {};    // of d_normed
  float branch[kVector] = {};  // of d_branch
};

// What a thread has of a row, as it is stored: half the registers of fp32. All of it is asked for
// before any of it is used, so that the reads wait for memory together.
template <typename T>
struct BackwardRow {
  int target;
  Stored<T> x;
  Stored<T> slope;
  Stored<T> past;
  float mean;
  float inverse;
  std::uint8_t kept;
};

template <typename T>
__device__ inline BackwardRow<T> read_row(const NormBackward& call, int row, int column) {
  BackwardRow<T> held = {};
  if (row >= call.rows) return held;
  held.target = call.selected != nullptr ? static_cast<int>(call.selected[row]) : row;
  held.mean = call.mean[row];
  held.inverse = call.inverse[row];
  if (column >= call.width) return held;
  const std::int64_t place = static_cast<std::int64_t>(held.target) * call.width + column;
  held.x.read(call.sum, place);
  held.slope.read(call.d_normed, static_cast<std::int64_t>(row) * call.width + column);
  if (call.d_sum != nullptr) held.past.read(call.d_sum, place);
  if (call.kept != nullptr) held.kept = call.kept[place / kVector];
  return held;
}

// The sums over a team's threads of two numbers. `of_warps` is the team's own, and another one the
// next time, so that one barrier suffices.
__device__ inline float2 sums_of_team(float2 numbers, float2* of_warps) {
  numbers.x = device::sum_of_warp(numbers.x);
  numbers.y = device::sum_of_warp(numbers.y);
  if (blockDim.x == kWarp) return numbers;
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = numbers;
  // Barrier 0 is the whole block's.
  asm volatile("bar.sync %0, %1;" ::"r"(threadIdx.y + 1), "r"(blockDim.x) : "memory");
  float2 total = {0, 0};
  for (unsigned warp = 0; warp < blockDim.x / kWarp; ++warp) {
    total.x += of_warps[warp].x;
    total.y += of_warps[warp].y;
  }
  return total;
}

// With n the normalised row, g = d_normed · weight: dx = (g - mean(g) - n · mean(g · n)) /
// deviation, and what comes past the norm besides.
template <typename T>
__device__ inline void differentiate_row(const NormBackward& call, const device::Dropout& dropout,
                                         const BackwardRow<T>& held, const Stored<T>& weights,
                                         float2* of_warps, ColumnSums& sums) {
  const int column = static_cast<int>(threadIdx.x) * kVector;
  float weight[kVector];
  float normed[kVector];
  float slope[kVector];
  weights.unpack(weight);
  held.x.unpack(normed);
  held.slope.unpack(slope);
  float2 total = {0, 0};
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    normed[i] = (normed[i] - held.mean) * held.inverse;
    sums.weight[i] += slope[i] * normed[i];
    sums.bias[i] += slope[i];
    slope[i] *= weight[i];
    total.x += slope[i];
    total.y += slope[i] * normed[i];
  }
  total = sums_of_team(total, of_warps);
  const float count = static_cast<float>(call.width);
  const float mean_slope = total.x / count;
  const float mean_slope_normed = total.y / count;
  // Row 0 among selected ones is padding; several of them may be.
  if (column >= call.width || (call.selected != nullptr && held.target == 0)) return;

  const std::int64_t place = static_cast<std::int64_t>(held.target) * call.width + column;
  float dx[kVector];
  held.past.unpack(dx);
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    dx[i] += held.inverse * (slope[i] - mean_slope - normed[i] * mean_slope_normed);
  }
  device::store(static_cast<T*>(call.dx) + place, dx);
  if (call.kept != nullptr) {
    device::keep(held.kept, dropout.scale, dx);
    device::store(static_cast<T*>(call.d_branch) + place, dx);
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i) sums.branch[i] += dx[i];
}

// The sums of a block's teams, one after another.
__device__ inline void write_part(const float (&sums)[kVector], float* shared, float* part,
                                  std::int64_t width) {
  const std::int64_t column = static_cast<std::int64_t>(threadIdx.x) * kVector;
  __syncthreads();
  if (column < width) device::store(shared + threadIdx.y * width + column, sums);
  __syncthreads();
  for (std::int64_t place = threadIdx.y * blockDim.x + threadIdx.x; place < width;
       place += blockDim.x * blockDim.y) {
    float total = 0;
    for (unsigned team = 0; team < blockDim.y; ++team) total += shared[team * width + place];
    part[place] = total;
  }
}

// Blocks of a team's threads x teams. parts [gridDim.x, 3, width]
template <typename T>
__global__ void __launch_bounds__(kThreads, kPartsOfMultiprocessor)
    norm_backward(NormBackward call, device::Dropout dropout, float* parts) {
  __shared__ float4 memory[kNormWidest / 4];
  __shared__ float2 of_warps[2][kMostWarps];
  const int column = static_cast<int>(threadIdx.x) * kVector;
  Stored<T> weights = {};
  if (column < call.width) weights.read(call.weight, column);
  ColumnSums sums;
  const int step = static_cast<int>(gridDim.x * blockDim.y);
  int row = static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y);
  auto held = read_row<T>(call, row, column);
  for (int turn = 0; row < call.rows; turn ^= 1, row += step) {
    const auto next = read_row<T>(call, row + step, column);
    differentiate_row<T>(call, dropout, held, weights,
                         of_warps[turn] + threadIdx.y * (blockDim.x / kWarp), sums);
    held = next;
  }
  auto* shared = reinterpret_cast<float*>(memory);
  float* part = parts + 3 * static_cast<std::int64_t>(blockIdx.x) * call.width;
  write_part(sums.weight, shared, part, call.width);
  write_part(sums.bias, shared, part + call.width, call.width);
  write_part(sums.branch, shared, part + 2 * call.width, call.width);
}

void forward(const NormForward& call) {
  const auto dropout = device::make_dropout(call.kept != nullptr ? call.dropout : 0.0);
  device::with_number(call.number, [&](auto number) {
    norm_forward<decltype(number)>
        <<<static_cast<unsigned>(call.rows), team_threads(call.width), 0, current_stream()>>>(
            call, dropout);
  });
  check(cudaGetLastError(), "normalising rows");
}

void backward(const NormBackward& call) {
  device::Dropout dropout;
  dropout.scale = device::dropout_scale(device::dropout_threshold(call.dropout));
  const unsigned threads = team_threads(call.width);
  const unsigned teams = kThreads / threads;
  const std::int64_t most = kPartsOfMultiprocessor * multiprocessor_count();
  const auto parts =
      static_cast<unsigned>(std::clamp<std::int64_t>((call.rows + teams - 1) / teams, 1, most));
  const Workspace sums(parts * 3 * static_cast<std::size_t>(call.width) * sizeof(float));
  auto* of_parts = static_cast<float*>(sums.data());
  device::with_number(call.number, [&](auto number) {
    using T = decltype(number);
    norm_backward<T><<<parts, dim3(threads, teams), 0, current_stream()>>>(call, dropout, of_parts);
    device::sum_parts(of_parts, static_cast<int>(parts), call.width, static_cast<T*>(call.d_weight),
                      static_cast<T*>(call.d_bias), static_cast<T*>(call.d_branch_sums));
  });
  check(cudaGetLastError(), "differentiating a norm");
}

const CudaKernelRegistration<NormKernels> kRegistered({.forward = forward, .backward = backward});

}  // namespace
}  // namespace myxtts
