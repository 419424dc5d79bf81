// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/decode/fused/block.cuh"

namespace myxtts::fused {

// Norms, and products by tensor cores.

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::normalise(const float4& factor, const float4& offset)
    -> void {
  float2* const moments = moments_ + (turn_ & 1) * kRows * kWarps;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (row >= rows_) break;
    const float2 own = warp_moments(x_[row]);
    if (lane_ == 0) moments[row * kWarps + warp_] = own;
  }
  ++turn_;
  sync_computing();
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (row >= rows_) break;
    const float2 all = joined_moments(moments + row * kWarps);
    const float slope = rsqrtf(all.y / kWidth + kNormEpsilon);
    float4& x = x_[row];
    x.x = (x.x - all.x) * slope * factor.x + offset.x;
    x.y = (x.y - all.x) * slope * factor.y + offset.y;
    x.z = (x.z - all.x) * slope * factor.z + offset.z;
    x.w = (x.w - all.x) * slope * factor.w + offset.w;
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::warp_moments(const float4& x) const -> float2 {
  float mean = (x.x + x.y + x.z + x.w) * 0.25F;
  float squares = (x.x - mean) * (x.x - mean) + (x.y - mean) * (x.y - mean) +
                  (x.z - mean) * (x.z - mean) + (x.w - mean) * (x.w - mean);
  float count = 4;  // of each of the two sides that are joined
#pragma unroll
  for (int step = 1; step < 32; step <<= 1) {
    const float other_mean = __shfl_xor_sync(~0U, mean, step);
    const float other_squares = __shfl_xor_sync(~0U, squares, step);
    const float distance = other_mean - mean;
    squares += other_squares + distance * distance * count * 0.5F;
    mean = (mean + other_mean) * 0.5F;
    count *= 2;
  }
  return make_float2(mean, squares);
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::joined_moments(const float2* parts) const -> float2 {
  float mean = 0;
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) mean += parts[i].x * (1.0F / kWarps);
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    const float distance = parts[i].x - mean;
    squares += parts[i].y + distance * distance * 128.0F;
  }
  return make_float2(mean, squares);
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::put_operand(int quarter) -> void {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (row >= rows_) break;
    const Halves first = split(x_[row].x, x_[row].y);
    const Halves second = split(x_[row].z, x_[row].w);
    *reinterpret_cast<uint2*>(operand_at(quarter, row, 0) + 4 * thread_) =
        make_uint2(first.upper, second.upper);
    *reinterpret_cast<uint2*>(operand_at(quarter, row, 1) + 4 * thread_) =
        make_uint2(first.lower, second.lower);
  }
  __syncwarp();
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::get_operand(int quarter, Operand& operand) const
    -> void {
  const int group = lane_ / 4;
  const int first = warp_ * 128 + lane_ % 4 * 8;
#pragma unroll
  for (int piece = 0; piece < 4; ++piece) {
    uint4 upper = {}, lower = {}, upper8 = {}, lower8 = {};
    const int at = first + piece * 32;
    if (group < rows_) {
      upper = *reinterpret_cast<const uint4*>(operand_at(quarter, group, 0) + at);
      lower = *reinterpret_cast<const uint4*>(operand_at(quarter, group, 1) + at);
    }
    if (kSets == 2 && group + 8 < rows_) {
      upper8 = *reinterpret_cast<const uint4*>(operand_at(quarter, group + 8, 0) + at);
      lower8 = *reinterpret_cast<const uint4*>(operand_at(quarter, group + 8, 1) + at);
    }
    // One set: rows 8-15 are the lower halves of rows 0-7. Two: upper halves, then lower ones.
    set(operand.a[0], piece, upper, kSets == 2 ? upper8 : lower);
    if (kSets == 2) set(operand.a[kSets - 1], piece, lower, lower8);
  }
  __syncwarp();
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::set(std::uint32_t (&a)[8][4], int piece,
                                                  const uint4& top, const uint4& bottom) -> void {
  a[2 * piece][0] = top.x;
  a[2 * piece][1] = bottom.x;
  a[2 * piece][2] = top.y;
  a[2 * piece][3] = bottom.y;
  a[2 * piece + 1][0] = top.z;
  a[2 * piece + 1][1] = bottom.z;
  a[2 * piece + 1][2] = top.w;
  a[2 * piece + 1][3] = bottom.w;
}

template <int kRows>
template <int kTiles>
__device__ __forceinline__ auto Block<kRows>::multiply_chunks(const Operand& operand,
                                                              float (&c)[kTiles][4]) -> void {
  constexpr int kSums = kTiles == 1 ? 4 : 2;
  int slots[kTiles];
  float sums[kTiles][kSums][4] = {};
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) slots[tile] = take();
#pragma unroll
  for (int piece = 0; piece < 4; ++piece) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const uint4 w = reinterpret_cast<const uint4*>(
          ring_.slots + slots[tile] * kSlotBytes)[warp_ * 128 + piece * 32 + lane_];
#pragma unroll
      for (int i = 0; i < kSets; ++i) {
        multiply(sums[tile][2 * piece % kSums], operand.a[i][2 * piece], w.x, w.y);
        multiply(sums[tile][(2 * piece + 1) % kSums], operand.a[i][2 * piece + 1], w.z, w.w);
      }
    }
  }
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) release(slots[tile]);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < kSums; ++j) c[tile][i] += sums[tile][j][i];
    }
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::put_sums(int tile, const float (&c)[4]) -> void {
  float* const sums = sums_ + (turn_ & 1) * (Plan::kSums / 8) + (warp_ * 4 + tile) * kRows * 8;
  const int row = lane_ / 4;
  const int column = lane_ % 4 * 2;
  if (kSets == 1) {
    if (row < rows_) {
      *reinterpret_cast<float2*>(sums + row * 8 + column) = make_float2(c[0] + c[2], c[1] + c[3]);
    }
  } else {
    if (row < rows_) {
      *reinterpret_cast<float2*>(sums + row * 8 + column) = make_float2(c[0], c[1]);
    }
    if (row + 8 < rows_) {
      *reinterpret_cast<float2*>(sums + (row + 8) * 8 + column) = make_float2(c[2], c[3]);
    }
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::sum_of(const float* sums, int tile, int index) const
    -> float {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) sum += sums[(i * 4 + tile) * kRows * 8 + index];
  return sum;
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::end_sums() -> const float* {
  const float* const sums = sums_ + (turn_ & 1) * (Plan::kSums / 8);
  ++turn_;
  sync_computing();
  return sums;
}

template <int kRows>
template <int kTiles>
__device__ __forceinline__ auto Block<kRows>::multiply_tiles() -> const float* {
  put_operand(0);
  Operand operand;
  get_operand(0, operand);
  float c[kTiles][4] = {};
  multiply_chunks(operand, c);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) put_sums(tile, c[tile]);
  return end_sums();
}

}  // namespace myxtts::fused
