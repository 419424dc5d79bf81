// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>

#include "device/cuda/check.h"
#include "device/cuda/current_work.h"
#include "kernels/training/attention/fragments.cuh"
#include "kernels/training/attention/kept_bits.cuh"
#include "kernels/training/attention/row_attention_launch.h"
#include "kernels/training/attention/segment.cuh"

namespace myxtts {
namespace {

using namespace device;  // NOLINT(google-build-using-namespace): their only user besides its twin

constexpr int kBlocksOfMultiprocessor = 3;
constexpr int kShared = kOwnedBytes + 2 * 2 * kTileBytes;  // queries; keys and values, twice

// Probabilities are 2 to the power of score · kScoreScale - top, where `top` is near the largest of
// a row so far: it follows when it is behind by more than this, so that sums are rarely rescaled.
constexpr float kMostBehind = 8;

// What a warp has of the softmax of its 32 queries, by [16 rows][row or row + 8].
struct Softmax {
  float top[2][2] = {{-INFINITY, -INFINITY}, {-INFINITY, -INFINITY}};
  float sum[2][2] = {};  // over this lane's keys
};

// Lets `top` follow, for all queries of the warp or for none.
__device__ inline void raise_tops(const Square& scores, Softmax& softmax, Strip& mixed) {
  float largest[2][2];
  bool behind = false;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float found = -INFINITY;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        found = fmaxf(found, fmaxf(scores[i][j][2 * r], scores[i][j][2 * r + 1]));
      }
      largest[i][r] = found * kScoreScale;
      behind |= largest[i][r] > softmax.top[i][r] + kMostBehind;
    }
  }
  if (__any_sync(0xffffffffU, behind) == 0) return;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float top = fmaxf(softmax.top[i][r], largest[i][r]);
      top = fmaxf(top, __shfl_xor_sync(0xffffffffU, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffU, top, 2));
      const float factor = power_of_two(softmax.top[i][r] - top);
      softmax.top[i][r] = top;
      softmax.sum[i][r] *= factor;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        mixed[i][j][2 * r] *= factor;
        mixed[i][j][2 * r + 1] *= factor;
      }
    }
  }
}

// Adds what 32 queries see in 32 keys. The scores become probabilities.
template <typename T>
__device__ inline void mix_group(Square& scores, Softmax& softmax, Strip& mixed, std::uint32_t kept,
                                 std::uint32_t values, const LanePlaces& places) {
  raise_tops(scores, softmax, mixed);
  SquareFactor weights;
  make_factors(weights, [&](int i, int j, int r) {
    const float top = softmax.top[i][r];
    const float first = power_of_two(fmaf(scores[i][j][2 * r], kScoreScale, -top));
    const float second = power_of_two(fmaf(scores[i][j][2 * r + 1], kScoreScale, -top));
    softmax.sum[i][r] += first + second;
    return pair_of<T>(first, second) & kept_pair(kept, i, j, r);
  });
  add_product<T>(mixed, weights, values, places);
}

// Divides by the sums, and writes the logarithms of what the queries' scores sum up to.
__device__ inline void finish_softmax(Softmax& softmax, Strip& mixed, float dropout_scale,
                                      float* log_sums, int row, int end) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float sum = softmax.sum[i][r];
      sum += __shfl_xor_sync(0xffffffffU, sum, 1);
      sum += __shfl_xor_sync(0xffffffffU, sum, 2);
      const int query = row + 16 * i + 8 * r + lane / 4;
      if (lane % 4 == 0 && query < end) log_sums[query] = softmax.top[i][r] + log2f(sum);
      const float factor = dropout_scale / sum;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        mixed[i][j][2 * r] *= factor;
        mixed[i][j][2 * r + 1] *= factor;
      }
    }
  }
}

template <typename T>
__device__ void attend_block(const RowAttention& call, const Dropout& dropout, char* shared) {
  const Segment segment(call);
  const int block = segment.blocks() - 1 - static_cast<int>(blockIdx.x);  // the longest first
  if (block < 0) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const LanePlaces places(lane);
  const KeptBits bits(dropout);
  const int u = owned_group(block);
  char* own_rows = shared + (u - block * kWarps) * kGroupBytes;
  const std::uint32_t queries = shared_address(own_rows);
  const std::uint32_t tiles = shared_address(shared) + kOwnedBytes;
  const auto* qkv = static_cast<const T*>(call.qkv);
  const auto ask_for_tile = [&](int tile) {
    const std::uint32_t to = tiles + tile % 2 * 2 * kTileBytes;
    ask_for_rows<kTile>(to, segment.of_qkv(call, qkv, 1), tile * kTile, segment.length);
    ask_for_rows<kTile>(to + kTileBytes, segment.of_qkv(call, qkv, 2), tile * kTile,
                        segment.length);
  };
  ask_for_rows<kOwned>(shared_address(shared), segment.of_qkv(call, qkv, 0), block * kOwned,
                       segment.length);
  ask_for_tile(0);

  HeldRows held;
  Softmax softmax;
  Strip mixed = {};
  const int last = min(segment.tiles(), (block + 1) * (kOwned / kTile)) - 1;
  for (int tile = 0; tile <= last; ++tile) {
    finish_copies();
    __syncthreads();
    if (tile == 0) held.read(queries, places);
    if (tile < last) ask_for_tile(tile + 1);
    const std::uint32_t keys = tiles + tile % 2 * 2 * kTileBytes;
#pragma unroll 1
    for (int half = 0; half < kTileGroups; ++half) {
      const int v = tile * kTileGroups + half;
      if (v > u || u >= segment.groups()) break;
      std::uint32_t kept = kAllKept;
      if (call.kept != nullptr) {
        kept = bits.draw(segment, u, v, lane);
        call.kept[kept_block(call, segment, u, v) + lane] = kept;
      }
      Square scores;
      multiply<T>(scores, held, keys + half * kGroupBytes, places);
      if (u == v) hide_later_keys<false>(scores, lane);
      mix_group<T>(scores, softmax, mixed, kept, keys + kTileBytes + half * kGroupBytes, places);
    }
  }
  if (u >= segment.groups()) return;
  finish_softmax(softmax, mixed, dropout.scale, segment.of_rows(call, call.log_sums), u * kGroup,
                 segment.length);
  write_rows<T>(mixed, own_rows, segment.of_mixed(call, static_cast<T*>(call.mixed)), u * kGroup,
                segment.length);
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kBlocksOfMultiprocessor)
    attend(RowAttention call, Dropout dropout) {
  extern __shared__ __align__(kRowBytes) char shared[];
  attend_block<T>(call, dropout, shared);
}

}  // namespace

void row_attention_forward(const RowAttention& call) {
  const Dropout dropout = make_dropout(call.kept != nullptr ? call.dropout : 0.0, 4 * kDraws);
  with_half(call.number, [&](auto number) {
    using T = decltype(number);
    check(cudaFuncSetAttribute(attend<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
          "attention");
    attend<T><<<attention_grid(call), kThreads, kShared, current_stream()>>>(call, dropout);
  });
  check(cudaGetLastError(), "attention");
}

}  // namespace myxtts
