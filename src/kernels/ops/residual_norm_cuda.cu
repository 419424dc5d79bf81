// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "device/cuda/runtime.h"
#include "kernels/cuda_kernels.h"
#include "kernels/ops/column_sums.cuh"
#include "kernels/ops/dropout_cuda.cuh"
#include "kernels/ops/vectors.cuh"

// Both passes are bound by memory only as long as enough of it is asked for ahead: while a row is
// computed the next ones are under way.

namespace myxtts {
namespace {

using device::kVector;
using device::kWarp;
using device::Stored;

constexpr int kMostWarps = kNormWidest / kVector / kWarp;  // of a team
constexpr int kThreads = kMostWarps * kWarp;               // of a block of the backward pass
constexpr int kPartsOfMultiprocessor = 2;
constexpr int kForwardWarps = 4;
constexpr int kForwardBlocks = 4;  // of a multiprocessor

// The vectors of x and branch that a lane has of a row, as they are stored: those at lane, lane +
// kWarp, ... of the row.
template <typename T, int kHeld>
struct ForwardRow {
  Stored<T> x[kHeld];
  Stored<T> branch[kHeld];
};

template <typename T, int kHeld>
__device__ inline ForwardRow<T, kHeld> read_row(const NormForward& call, std::int64_t row) {
  ForwardRow<T, kHeld> held = {};
  if (row >= call.rows) return held;
  const std::int64_t source = call.selected != nullptr ? call.selected[row] : row;
#pragma unroll
  for (int v = 0; v < kHeld; ++v) {
    const int column = (v * kWarp + static_cast<int>(threadIdx.x)) * kVector;
    if (column >= call.width) continue;
    held.x[v].read(call.x, source * call.width + column);
    if (call.branch != nullptr) held.branch[v].read(call.branch, row * call.width + column);
  }
  return held;
}

// x + dropout(branch) as it is stored, with the sum and the mask written; x alone without branch.
template <typename T>
__device__ inline void add_branch(const NormForward& call, const device::Dropout& dropout,
                                  std::int64_t place, const Stored<T>& branch,
                                  float (&sum)[kVector]) {
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

template <typename T, int kHeld>
__device__ inline void normalise_row(const NormForward& call, const device::Dropout& dropout,
                                     std::int64_t row, const ForwardRow<T, kHeld>& read) {
  const int lane = static_cast<int>(threadIdx.x);
  float held[kHeld][kVector] = {};
  float total = 0;
#pragma unroll
  for (int v = 0; v < kHeld; ++v) {
    const int column = (v * kWarp + lane) * kVector;
    if (column >= call.width) break;
    read.x[v].unpack(held[v]);
    add_branch(call, dropout, row * call.width + column, read.branch[v], held[v]);
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

// Fewer blocks where so many would have to keep part of a row outside of their registers.
template <typename T, int kHeld>
constexpr int kResidentBlocks = sizeof(T) * kHeld <= 8 ? kForwardBlocks : 1;

// Blocks of kWarp x kForwardWarps threads: a warp for each row.
template <typename T, int kHeld>
__global__ void __launch_bounds__(kWarp* kForwardWarps, (kResidentBlocks<T, kHeld>))
    norm_forward_kernel(NormForward call, device::Dropout dropout) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kForwardWarps;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kForwardWarps + threadIdx.y;
  auto held = read_row<T, kHeld>(call, row);
  for (; row < call.rows; row += step) {
    const auto next = read_row<T, kHeld>(call, row + step);
    normalise_row<T, kHeld>(call, dropout, row, held);
    held = next;
  }
}

// Note [A team for a row]
// The backward pass sums over rows besides, for each column, so the less of a row a thread has the
// fewer registers are taken by sums. There a row is the work of a team: as many whole warps as give
// each of its vectors a thread.
unsigned team_threads(std::int64_t width) {
  return static_cast<unsigned>((width + kVector * kWarp - 1) / (kVector * kWarp)) * kWarp;
}

// A thread's sums over its team's rows.
struct ColumnSums {
  float weight[kVector] = {};  // of d_normed · normalised
  float bias[kVector] = {};    // of d_normed
  float branch[kVector] = {};  // of d_branch
};

// Copies that wait for memory without holding registers.
template <typename T>
__device__ inline void copy_ahead(Stored<T>* to, const void* numbers, std::int64_t place) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  const auto* from = static_cast<const char*>(numbers) + place * static_cast<int>(sizeof(T));
#pragma unroll
  for (unsigned i = 0; i < sizeof(Stored<T>); i += 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + i), "l"(from + i)
                 : "memory");
  }
}

// The rows that a team is about to work on. Each thread copies and reads only what is its own, so
// nobody waits for another.
template <typename T>
struct RowsAhead {
  static constexpr int kRows = sizeof(T) == 2 ? 4 : 2;

  Stored<T> x[kRows][kThreads];
  Stored<T> slope[kRows][kThreads];
  Stored<T> past[kRows][kThreads];
};

template <typename T>
__device__ inline void ask_for(const NormBackward& call, RowsAhead<T>& ahead, int row, int turn) {
  const int column = static_cast<int>(threadIdx.x) * kVector;
  if (row < call.rows && column < call.width) {
    const int own = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
    const int which = turn % RowsAhead<T>::kRows;
    const std::int64_t target = call.selected != nullptr ? call.selected[row] : row;
    const std::int64_t place = target * call.width + column;
    copy_ahead(&ahead.x[which][own], call.sum, place);
    copy_ahead(&ahead.slope[which][own], call.d_normed,
               static_cast<std::int64_t>(row) * call.width + column);
    if (call.d_sum != nullptr) copy_ahead(&ahead.past[which][own], call.d_sum, place);
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// The little that a thread needs of a row besides, asked for one row ahead.
struct RowFacts {
  std::int64_t target = 0;
  float mean = 0;
  float inverse = 0;
  std::uint8_t kept = 0;
};

__device__ inline RowFacts facts_of(const NormBackward& call, int row) {
  RowFacts facts;
  if (row >= call.rows) return facts;
  const int column = static_cast<int>(threadIdx.x) * kVector;
  facts.target = call.selected != nullptr ? call.selected[row] : row;
  facts.mean = call.mean[row];
  facts.inverse = call.inverse[row];
  if (call.kept != nullptr && column < call.width) {
    facts.kept = call.kept[(facts.target * call.width + column) / kVector];
  }
  return facts;
}

// What a thread has of a row.
template <typename T>
struct BackwardRow {
  Stored<T> x = {};
  Stored<T> slope = {};
  Stored<T> past = {};
};

template <typename T>
__device__ inline BackwardRow<T> take_row(const NormBackward& call, const RowsAhead<T>& ahead,
                                          int turn) {
  asm volatile("cp.async.wait_group %0;" ::"n"(RowsAhead<T>::kRows - 2) : "memory");
  BackwardRow<T> held;
  if (static_cast<int>(threadIdx.x) * kVector >= call.width) return held;
  const int own = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const int which = turn % RowsAhead<T>::kRows;
  held.x = ahead.x[which][own];
  held.slope = ahead.slope[which][own];
  if (call.d_sum != nullptr) held.past = ahead.past[which][own];
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
                                         const RowFacts& facts, const BackwardRow<T>& held,
                                         const Stored<T>& weights, float2* of_warps,
                                         ColumnSums& sums) {
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
    normed[i] = (normed[i] - facts.mean) * facts.inverse;
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
  if (column >= call.width || (call.selected != nullptr && facts.target == 0)) return;

  const std::int64_t place = facts.target * call.width + column;
  float dx[kVector];
  held.past.unpack(dx);
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    dx[i] += facts.inverse * (slope[i] - mean_slope - normed[i] * mean_slope_normed);
  }
  device::store(static_cast<T*>(call.dx) + place, dx);
  if (call.kept != nullptr) {
    device::keep(facts.kept, dropout.scale, dx);
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
    norm_backward_kernel(NormBackward call, device::Dropout dropout, float* parts) {
  extern __shared__ float4 memory[];
  __shared__ float2 of_warps[2][kMostWarps];
  auto& ahead = *reinterpret_cast<RowsAhead<T>*>(memory);
  const int column = static_cast<int>(threadIdx.x) * kVector;
  Stored<T> weights = {};
  if (column < call.width) weights.read(call.weight, column);
  ColumnSums sums;
  const int step = static_cast<int>(gridDim.x * blockDim.y);
  int row = static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y);
  constexpr int kDistance = RowsAhead<T>::kRows - 1;
  for (int turn = 0; turn < kDistance; ++turn) ask_for(call, ahead, row + turn * step, turn);
  RowFacts facts = facts_of(call, row);
  for (int turn = 0; row < call.rows; ++turn, row += step) {
    const auto held = take_row<T>(call, ahead, turn);
    ask_for(call, ahead, row + kDistance * step, turn + kDistance);
    const RowFacts next = facts_of(call, row + step);
    differentiate_row<T>(call, dropout, facts, held, weights,
                         of_warps[turn % 2] + threadIdx.y * (blockDim.x / kWarp), sums);
    facts = next;
  }
  // Where rows were, sums of teams follow: nothing is under way any more, as none was asked for
  // beyond the last row.
  auto* shared = reinterpret_cast<float*>(memory);
  float* part = parts + 3 * static_cast<std::int64_t>(blockIdx.x) * call.width;
  write_part(sums.weight, shared, part, call.width);
  write_part(sums.bias, shared, part + call.width, call.width);
  write_part(sums.branch, shared, part + 2 * call.width, call.width);
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

}  // namespace

void cuda::norm_forward(const NormForward& call) {
  const auto dropout = device::make_dropout(call.kept != nullptr ? call.dropout : 0.0);
  const std::int64_t most = kForwardBlocks * multiprocessor_count();
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>((call.rows + kForwardWarps - 1) / kForwardWarps, most));
  device::with_number(call.number, [&](auto number) {
    with_held(call.width, [&](auto held) {
      norm_forward_kernel<decltype(number), decltype(held)::value>
          <<<blocks, dim3(kWarp, kForwardWarps), 0, current_stream()>>>(call, dropout);
    });
  });
  check(cudaGetLastError(), "normalising rows");
}

void cuda::norm_backward(const NormBackward& call) {
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
    constexpr int kShared = sizeof(RowsAhead<T>);
    check(cudaFuncSetAttribute(norm_backward_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               kShared),
          "differentiating a norm");
    norm_backward_kernel<T>
        <<<parts, dim3(threads, teams), kShared, current_stream()>>>(call, dropout, of_parts);
    device::sum_parts(of_parts, static_cast<int>(parts), call.width, static_cast<T*>(call.d_weight),
                      static_cast<T*>(call.d_bias), static_cast<T*>(call.d_branch_sums));
  });
  check(cudaGetLastError(), "differentiating a norm");
}

}  // namespace myxtts
