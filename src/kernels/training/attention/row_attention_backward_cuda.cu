// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "device/cuda/check.h"
#include "device/cuda/current_work.h"
#include "kernels/training/attention/fragments.cuh"
#include "kernels/training/attention/kept_bits.cuh"
#include "kernels/training/attention/row_attention_launch.h"
#include "kernels/training/attention/segment.cuh"
#include "kernels/training/parameter_sums.cuh"

namespace myxtts {
namespace {

using namespace device;  // NOLINT(google-build-using-namespace): their only user besides its twin

// Note [Backward pass of attention]
// With scores S = Q Kᵀ / 8, probabilities P = softmax(S), what dropout makes of them P' = s M P and
// O = P' V, the gradients are
//
//   dV = P'ᵀ dO,   dP = s M (dO Vᵀ),   dS = P (dP - D),   dQ = dS K / 8,   dK = dSᵀ Q / 8
//
// where D of a query is the sum of dO O over its width. P comes from the scores and the logarithms
// of their sums. One set of blocks of threads owns queries, passes over keys and sums dQ; another
// owns keys, passes over queries and sums dK and dV: products of scores are computed by both, and
// nobody adds to what another one has. They are one and the same program with the sides exchanged:
// with own rows A (queries | keys), B (gradients of the output | values) and rows met C (keys |
// queries), E (values | gradients of the output), scores are A Cᵀ, slopes B Eᵀ, and the gradients
// sum dS C, and for keys P' E.
//
// s is left to the end: dS / s = P (M (dO Vᵀ) - D / s).
constexpr int kBlocksOfMultiprocessor = 2;
constexpr int kFactBytes = kTile * sizeof(float2);
constexpr int kShared = 2 * kOwnedBytes + 2 * (2 * kTileBytes + kFactBytes);

// What there is of each query besides.
struct Facts {
  float* log_sums;  // [heads, rows]
  float* slopes;    // [heads, rows] D / s
};

// Where the column sums of d_qkv come together: [blocks of rows][3, heads, kHeadWidth], or null.
// The blocks of a segment stand from start / kOwned + its number on, which leaves gaps.
struct Parts {
  float* sums;
  std::int64_t count;
};

__host__ __device__ constexpr std::int64_t first_part(std::int64_t start, std::int64_t segment) {
  return start / kOwned + segment;
}

constexpr int kSumThreads = 256;

// D / s, a row of a head by eight lanes; and zeros for the parts.
template <typename T>
__global__ void sum_slopes(RowAttention call, const T* d_mixed, float scale, float* slopes,
                           Parts parts) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kSumThreads + threadIdx.x;
  const std::int64_t width = 3 * call.heads * kHeadWidth;
  for (std::int64_t i = thread; parts.sums != nullptr && i < parts.count * width;
       i += static_cast<std::int64_t>(gridDim.x) * kSumThreads) {
    parts.sums[i] = 0;
  }
  const std::int64_t row = thread / kPieces / call.heads;
  const std::int64_t head = thread / kPieces % call.heads;
  float sum = 0;
  if (row < call.rows) {
    float left[kVector];
    float right[kVector];
    load(d_mixed + thread * kVector, left);
    load(static_cast<const T*>(call.mixed) + thread * kVector, right);
#pragma unroll
    for (int i = 0; i < kVector; ++i) sum += left[i] * right[i];
  }
#pragma unroll
  for (int distance = kPieces / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffU, sum, distance);
  }
  if (row < call.rows && thread % kPieces == 0) slopes[head * call.rows + row] = sum * scale;
}

// What a warp holds while it passes over the other side.
template <bool kOwnsKeys>
struct Sums {
  Strip first = {};  // dS C
};
template <>
struct Sums<true> {
  Strip first = {};
  Strip second = {};  // P' E
};

// The facts of the queries that a lane has in a block: of its rows, or of its columns.
template <bool kOwnsKeys>
struct LaneFacts;

template <>
struct LaneFacts<false> {
  float2 of[2][2];  // by row 16 i + 8 r

  __device__ void read(const float* log_sums, const float* slopes, int row, int end) {
#pragma unroll
    for (int place = 0; place < 4; ++place) {
      const int query = row + 8 * place + static_cast<int>(threadIdx.x) % kWarp / 4;
      const bool there = query < end;
      of[place / 2][place % 2] = {there ? log_sums[query] : 0, there ? slopes[query] : 0};
    }
  }
  __device__ float2 at(int i, int, int e) const {
    return of[i][e / 2];
  }
};

template <>
struct LaneFacts<true> {
  const float2* columns;  // in shared memory, of this lane's first query

  __device__ float2 at(int, int j, int e) const { return columns[8 * j + e % 2]; }
};

// One block of 32 own rows by 32 rows met, at `met` and, the second kind, kTileBytes behind it.
template <typename T, bool kOwnsKeys, typename Own>
__device__ inline void differentiate_group(const Own (&own)[2], std::uint32_t met,
                                           const LaneFacts<kOwnsKeys>& facts, bool same_group,
                                           std::uint32_t kept, const LanePlaces& places,
                                           Sums<kOwnsKeys>& sums) {
  Square weights;
  multiply<T>(weights, own[0], met, places);
  if (same_group) hide_later_keys<kOwnsKeys>(weights, static_cast<int>(threadIdx.x) % kWarp);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        weights[i][j][e] = power_of_two(fmaf(weights[i][j][e], kScoreScale, -facts.at(i, j, e).x));
      }
    }
  }
  SquareFactor factors;
  if constexpr (kOwnsKeys) {
    make_factors(factors, [&](int i, int j, int r) {
      return pair_of<T>(weights[i][j][2 * r], weights[i][j][2 * r + 1]) & kept_pair(kept, i, j, r);
    });
    add_product<T>(sums.second, factors, met + kTileBytes, places);
  }
  Square slopes;
  multiply<T>(slopes, own[1], met + kTileBytes, places);
  const auto slope = [&](int i, int j, int e) {
    const float through =
        __uint_as_float(__float_as_uint(slopes[i][j][e]) & kept_number(kept, i, j, e));
    return weights[i][j][e] * (through - facts.at(i, j, e).y);
  };
  make_factors(factors, [&](int i, int j, int r) {
    return pair_of<T>(slope(i, j, 2 * r), slope(i, j, 2 * r + 1));
  });
  add_product<T>(sums.first, factors, met, places);
}

__device__ inline void scale_strip(Strip& strip, float factor) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) strip[i][j][e] *= factor;
    }
  }
}

// Sums the columns of the block's rows, by rows of a warp and then by warps: part [kHeadWidth].
// shared [kWarps, kHeadWidth] is free when all warps come here.
__device__ inline void sum_columns(const Strip& strip, float* shared, float* part) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      float sum = strip[0][j][c] + strip[0][j][2 + c] + strip[1][j][c] + strip[1][j][2 + c];
#pragma unroll
      for (int distance = 4; distance < kWarp; distance *= 2) {
        sum += __shfl_xor_sync(0xffffffffU, sum, distance);
      }
      if (lane < 4) shared[warp * kHeadWidth + 8 * j + 2 * lane + c] = sum;
    }
  }
  __syncthreads();
  if (threadIdx.x < kHeadWidth) {
    float total = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) total += shared[i * kHeadWidth + threadIdx.x];
    part[threadIdx.x] = total;
  }
}

// Where a block of threads finds its own rows and those it meets.
template <typename T>
struct Sides {
  Rows<const T> own[2];
  Rows<const T> met[2];
};

template <typename T, bool kOwnsKeys>
__device__ Sides<T> sides_of(const RowAttention& call, const RowAttentionGradients& gradients,
                             const Segment& segment) {
  const auto* qkv = static_cast<const T*>(call.qkv);
  const Rows<const T> queries[2] = {
      segment.of_qkv(call, qkv, 0),
      segment.of_mixed(call, static_cast<const T*>(gradients.d_mixed))};
  const Rows<const T> keys[2] = {segment.of_qkv(call, qkv, 1), segment.of_qkv(call, qkv, 2)};
  if constexpr (kOwnsKeys) return {{keys[0], keys[1]}, {queries[0], queries[1]}};
  return {{queries[0], queries[1]}, {keys[0], keys[1]}};
}

// Asks for a tile of both kinds of rows met, and the facts behind them where they are queries.
template <typename T, bool kOwnsKeys>
__device__ inline void ask_for_tile(std::uint32_t to, const Sides<T>& sides, const Segment& segment,
                                    const float* log_sums, const float* slopes, int tile) {
  ask_for_rows<kTile>(to, sides.met[0], tile * kTile, segment.length);
  ask_for_rows<kTile>(to + kTileBytes, sides.met[1], tile * kTile, segment.length);
  if constexpr (kOwnsKeys) {
    static_assert(kThreads == 2 * kTile);
    const int place = static_cast<int>(threadIdx.x) / 2;
    const int query = tile * kTile + place;
    copy_ahead<4>(to + 2 * kTileBytes + static_cast<std::uint32_t>(threadIdx.x) * 4,
                  (threadIdx.x % 2 == 0 ? log_sums : slopes) + query, query < segment.length);
  }
}

template <typename T, bool kOwnsKeys>
__device__ void differentiate_block(const RowAttention& call,
                                    const RowAttentionGradients& gradients, const Facts& facts,
                                    const Parts& parts, float dropout_scale, char* shared) {
  const Segment segment(call);
  const int number = static_cast<int>(blockIdx.x) / 2;
  const int block = kOwnsKeys ? number : segment.blocks() - 1 - number;  // the longest first
  if (block < 0 || block >= segment.blocks()) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const LanePlaces places(lane);
  const Sides<T> sides = sides_of<T, kOwnsKeys>(call, gradients, segment);
  const float* log_sums = segment.of_rows(call, facts.log_sums);
  const float* slopes = segment.of_rows(call, facts.slopes);
  const std::uint32_t own = shared_address(shared);
  constexpr int kStage = 2 * kTileBytes + kFactBytes;
  const std::uint32_t stages = own + 2 * kOwnedBytes;
  const int first = kOwnsKeys ? block * (kOwned / kTile) : 0;
  const int last =
      (kOwnsKeys ? segment.tiles() : min(segment.tiles(), (block + 1) * (kOwned / kTile))) - 1;
  ask_for_rows<kOwned>(own, sides.own[0], block * kOwned, segment.length);
  ask_for_rows<kOwned>(own + kOwnedBytes, sides.own[1], block * kOwned, segment.length);
  ask_for_tile<T, kOwnsKeys>(stages + first % 2 * kStage, sides, segment, log_sums, slopes, first);

  const int group = owned_group(block);
  const int own_place = (group - block * kWarps) * kGroupBytes;
  std::conditional_t<kOwnsKeys, SharedRows, HeldRows> own_rows[2];
  LaneFacts<kOwnsKeys> lane_facts;
  if constexpr (!kOwnsKeys) lane_facts.read(log_sums, slopes, group * kGroup, segment.length);
  Sums<kOwnsKeys> sums;
  for (int tile = first; tile <= last; ++tile) {
    finish_copies();
    __syncthreads();
    if (tile == first) {
      own_rows[0].read(own + own_place, places);
      own_rows[1].read(own + kOwnedBytes + own_place, places);
    }
    if (tile < last) {
      ask_for_tile<T, kOwnsKeys>(stages + (tile + 1) % 2 * kStage, sides, segment, log_sums, slopes,
                                 tile + 1);
    }
    const int stage = tile % 2 * kStage;
#pragma unroll 1
    for (int half = 0; half < kTileGroups; ++half) {
      const int met = tile * kTileGroups + half;
      const int u = kOwnsKeys ? met : group;
      const int v = kOwnsKeys ? group : met;
      if (v > u || u >= segment.groups()) continue;
      std::uint32_t kept = kAllKept;
      if (call.kept != nullptr) {
        const std::uint32_t* block_bits = call.kept + kept_block(call, segment, u, v);
        kept = kOwnsKeys ? read_kept_transposed(block_bits, lane) : read_kept(block_bits, lane);
      }
      if constexpr (kOwnsKeys) {
        lane_facts.columns =
            reinterpret_cast<const float2*>(shared + 2 * kOwnedBytes + stage + 2 * kTileBytes) +
            half * kGroup + lane % 4 * 2;
      }
      differentiate_group<T, kOwnsKeys>(own_rows, stages + stage + half * kGroupBytes, lane_facts,
                                        u == v, kept, places, sums);
    }
  }

  auto* d_qkv = static_cast<T*>(gradients.d_qkv);
  const int row = group * kGroup;
  constexpr float kWidthScale = 0.125F;  // one by the root of the head's width
  scale_strip(sums.first, kWidthScale * dropout_scale);
  write_rows<T>(sums.first, shared + own_place, segment.of_qkv(call, d_qkv, kOwnsKeys ? 1 : 0), row,
                segment.length);
  if constexpr (kOwnsKeys) {
    scale_strip(sums.second, dropout_scale);
    write_rows<T>(sums.second, shared + kOwnedBytes + own_place, segment.of_qkv(call, d_qkv, 2),
                  row, segment.length);
  }
  if (parts.sums == nullptr) return;
  float* part = parts.sums + ((first_part(segment.start, segment.index) + block) * 3 * call.heads +
                              segment.head) *
                                 kHeadWidth;
  __syncthreads();  // tiles are free
  auto* of_warps = reinterpret_cast<float*>(shared + 2 * kOwnedBytes);
  sum_columns(sums.first, of_warps, part + (kOwnsKeys ? 1 : 0) * call.heads * kHeadWidth);
  if constexpr (kOwnsKeys) {
    sum_columns(sums.second, of_warps + kWarps * kHeadWidth, part + 2 * call.heads * kHeadWidth);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kBlocksOfMultiprocessor)
    differentiate(RowAttention call, RowAttentionGradients gradients, Facts facts, Parts parts,
                  float dropout_scale) {
  extern __shared__ __align__(kRowBytes) char shared[];
  if (blockIdx.x % 2 == 0) {
    differentiate_block<T, true>(call, gradients, facts, parts, dropout_scale, shared);
  } else {
    differentiate_block<T, false>(call, gradients, facts, parts, dropout_scale, shared);
  }
}

}  // namespace

void row_attention_backward(const RowAttention& call, const RowAttentionGradients& gradients) {
  const float scale = dropout_scale(dropout_threshold(call.kept != nullptr ? call.dropout : 0.0));
  const std::int64_t width = 3 * call.heads * kHeadWidth;
  const std::int64_t part_count = first_part(call.rows, call.segments);
  const auto of_rows = static_cast<std::size_t>(call.heads * call.rows);
  const Workspace workspace((of_rows + static_cast<std::size_t>(part_count * width)) *
                            sizeof(float));
  auto* slopes = static_cast<float*>(workspace.data());
  const Facts facts = {.log_sums = call.log_sums, .slopes = slopes};
  const Parts parts = {.sums = gradients.d_bias != nullptr ? slopes + of_rows : nullptr,
                       .count = part_count};
  const std::int64_t threads = call.rows * call.heads * kPieces;
  const auto sum_blocks = static_cast<unsigned>((threads + kSumThreads - 1) / kSumThreads);
  dim3 grid = attention_grid(call);
  grid.x *= 2;
  with_half(call.number, [&](auto number) {
    using T = decltype(number);
    sum_slopes<T><<<sum_blocks, kSumThreads, 0, current_stream()>>>(
        call, static_cast<const T*>(gradients.d_mixed), 1 / scale, slopes, parts);
    check(cudaFuncSetAttribute(differentiate<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               kShared),
          "differentiating attention");
    differentiate<T>
        <<<grid, kThreads, kShared, current_stream()>>>(call, gradients, facts, parts, scale);
    sum_parts(parts.sums, static_cast<int>(part_count), width, static_cast<T*>(gradients.d_bias));
  });
  check(cudaGetLastError(), "differentiating attention");
}

}  // namespace myxtts
