// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "device/cuda/runtime.h"
#include "kernels/attention/fragments.cuh"
#include "kernels/attention/row_attention.cuh"
#include "kernels/ops/column_sums.cuh"

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
constexpr int kStageBytes = 2 * kTileBytes + kFactBytes;
constexpr int kShared = 2 * kOwnedBytes + 2 * kStageBytes;
constexpr float kWidthScale = 0.125F;  // of scores: one by the root of the head's width

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
  for_each_number(weights, [&](float& weight, int i, int j, int e) {
    weight = power_of_two(fmaf(weight, kScoreScale, -facts.at(i, j, e).x));
  });
  SquareFactor factors;
  if constexpr (kOwnsKeys) {
    make_factors(factors, [&](int i, int j, int r) {
      return pair_of<T>(weights[i][j][2 * r], weights[i][j][2 * r + 1]) & kept_pair(kept, i, j, r);
    });
    add_product<T>(sums.second, factors, met + kTileBytes, places);
  }
  // Not before the weights are spent on P' E: slopes beside them would need registers that are not
  // there.
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
  for_each_number(strip, [factor](float& number, int, int, int) { number *= factor; });
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

// Where rows of both kinds are, of queries (and gradients of the output) or of keys (and values).
template <typename T>
struct Side {
  Rows<const T> kinds[2];
};

template <typename T, bool kKeys>
__device__ inline Side<T> side_of(const RowAttention& call, const RowAttentionGradients& gradients,
                                  const Segment& segment) {
  const auto* qkv = static_cast<const T*>(call.qkv);
  if constexpr (kKeys) return {segment.of_qkv(call, qkv, 1), segment.of_qkv(call, qkv, 2)};
  return {segment.of_qkv(call, qkv, 0),
          segment.of_mixed(call, static_cast<const T*>(gradients.d_mixed))};
}

// What a block of threads does for 128 queries or keys of a segment; each warp for 32 of them.
template <typename T, bool kOwnsKeys>
class BlockGradient {
 public:
  __device__ BlockGradient(const RowAttention& call, const RowAttentionGradients& gradients,
                           const Facts& facts, const Segment& segment, int block, char* shared)
      : call_(call),
        segment_(segment),
        met_(side_of<T, !kOwnsKeys>(call, gradients, segment)),
        log_sums_(segment.of_rows(call, facts.log_sums)),
        slopes_(segment.of_rows(call, facts.slopes)),
        lane_(static_cast<int>(threadIdx.x) % kWarp),
        places_(lane_),
        group_(owned_group(segment, block)),
        own_rows_(shared + (group_ - block * kWarps) * kGroupBytes),
        stages_(shared + 2 * kOwnedBytes) {
    const Side<T> own = side_of<T, kOwnsKeys>(call, gradients, segment);
    const std::uint32_t to = shared_address(shared);
    ask_for_rows<kOwned>(to, own.kinds[0], block * kOwned, segment.length);
    ask_for_rows<kOwned>(to + kOwnedBytes, own.kinds[1], block * kOwned, segment.length);
    if constexpr (!kOwnsKeys) facts_.read(log_sums_, slopes_, group_ * kGroup, segment.length);
  }

  // Rows of both kinds and, where they are queries, the facts behind them.
  __device__ void ask_for_tile(int tile) const {
    const std::uint32_t to = shared_address(stage_of(tile));
    ask_for_rows<kTile>(to, met_.kinds[0], tile * kTile, segment_.length);
    ask_for_rows<kTile>(to + kTileBytes, met_.kinds[1], tile * kTile, segment_.length);
    if constexpr (kOwnsKeys) {
      static_assert(kThreads == 2 * kTile);
      const int thread = static_cast<int>(threadIdx.x);
      const int query = tile * kTile + thread / 2;
      copy_ahead<4>(to + 2 * kTileBytes + thread * 4,
                    (thread % 2 == 0 ? log_sums_ : slopes_) + query, query < segment_.length);
    }
  }

  __device__ void read_own() {
    own_[0].read(shared_address(own_rows_), places_);
    own_[1].read(shared_address(own_rows_) + kOwnedBytes, places_);
  }

  __device__ void pass_tile(int tile) {
#pragma unroll 1
    for (int half = 0; half < kTileGroups; ++half) {
      const int met = tile * kTileGroups + half;
      const int u = kOwnsKeys ? met : group_;
      const int v = kOwnsKeys ? group_ : met;
      if (v > u || u >= segment_.groups()) continue;
      const std::uint32_t kept = read_kept(u, v);
      char* stage = stage_of(tile);
      if constexpr (kOwnsKeys) {
        facts_.columns =
            reinterpret_cast<const float2*>(stage + 2 * kTileBytes) + half * kGroup + lane_ % 4 * 2;
      }
      differentiate_group<T, kOwnsKeys>(own_, shared_address(stage) + half * kGroupBytes, facts_,
                                        u == v, kept, places_, sums_);
    }
  }

  __device__ void write(T* d_qkv, float dropout_scale) {
    const int row = group_ * kGroup;
    scale_strip(sums_.first, kWidthScale * dropout_scale);
    write_rows<T>(sums_.first, own_rows_, segment_.of_qkv(call_, d_qkv, kOwnsKeys ? 1 : 0), row,
                  segment_.length);
    if constexpr (kOwnsKeys) {
      scale_strip(sums_.second, dropout_scale);
      write_rows<T>(sums_.second, own_rows_ + kOwnedBytes, segment_.of_qkv(call_, d_qkv, 2), row,
                    segment_.length);
    }
  }

  // part [3, heads, kHeadWidth]
  __device__ void write_part(float* part) const {
    __syncthreads();  // nobody reads tiles any more
    auto* of_warps = reinterpret_cast<float*>(stages_);
    const std::int64_t width = call_.heads * kHeadWidth;
    part += segment_.head * kHeadWidth;
    sum_columns(sums_.first, of_warps, part + (kOwnsKeys ? 1 : 0) * width);
    if constexpr (kOwnsKeys) {
      sum_columns(sums_.second, of_warps + kWarps * kHeadWidth, part + 2 * width);
    }
  }

 private:
  __device__ char* stage_of(int tile) const {
    return stages_ + tile % 2 * kStageBytes;
  }

  __device__ std::uint32_t read_kept(int u, int v) const {
    if (call_.kept == nullptr) return kAllKept;
    const std::uint32_t* block = call_.kept + kept_block(call_, segment_, u, v);
    return kOwnsKeys ? read_kept_transposed(block, lane_) : block[lane_];
  }

  const RowAttention& call_;
  const Segment& segment_;
  Side<T> met_;
  const float* log_sums_;
  const float* slopes_;
  int lane_;
  LanePlaces places_;
  int group_;  // the warp's
  char* own_rows_;
  char* stages_;
  std::conditional_t<kOwnsKeys, SharedRows, HeldRows> own_[2];
  LaneFacts<kOwnsKeys> facts_;
  Sums<kOwnsKeys> sums_;
};

template <typename T, typename Order, bool kOwnsKeys>
__device__ void differentiate_block(const RowAttention& call,
                                    const RowAttentionGradients& gradients, const Facts& facts,
                                    const Parts& parts, float dropout_scale, char* shared) {
  const Segment segment(call, Order{});
  const int number = Order::number() / 2;
  const int block = kOwnsKeys ? number : segment.blocks() - 1 - number;
  if (block < 0 || block >= segment.blocks()) return;
  BlockGradient<T, kOwnsKeys> gradient(call, gradients, facts, segment, block, shared);
  constexpr int kTiles = kOwned / kTile;
  const int first = kOwnsKeys ? block * kTiles : 0;
  const int end = kOwnsKeys ? segment.tiles() : min(segment.tiles(), (block + 1) * kTiles);
  gradient.ask_for_tile(first);
  for (int tile = first; tile < end; ++tile) {
    finish_copies();
    __syncthreads();
    if (tile == first) gradient.read_own();
    if (tile + 1 < end) gradient.ask_for_tile(tile + 1);
    gradient.pass_tile(tile);
  }
  gradient.write(static_cast<T*>(gradients.d_qkv), dropout_scale);
  if (parts.sums == nullptr) return;
  const std::int64_t part = first_part(segment.start, segment.index) + block;
  gradient.write_part(parts.sums + part * 3 * call.heads * kHeadWidth);
}

template <typename T, typename Order>
__global__ void __launch_bounds__(kThreads, kBlocksOfMultiprocessor)
    differentiate(RowAttention call, RowAttentionGradients gradients, Facts facts, Parts parts,
                  float dropout_scale) {
  extern __shared__ __align__(kRowBytes) char shared[];
  if (Order::number() % 2 == 0) {
    differentiate_block<T, Order, true>(call, gradients, facts, parts, dropout_scale, shared);
  } else {
    differentiate_block<T, Order, false>(call, gradients, facts, parts, dropout_scale, shared);
  }
}

}  // namespace

void cuda::row_attention_backward(const RowAttention& call,
                                  const RowAttentionGradients& gradients) {
  const float scale = dropout_scale(dropout_threshold(kept_dropout(call)));
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
  with_half(call.number, [&](auto number) {
    using T = decltype(number);
    sum_slopes<T><<<sum_blocks, kSumThreads, 0, current_stream()>>>(
        call, static_cast<const T*>(gradients.d_mixed), 1 / scale, slopes, parts);
    with_grid(call, 2, kBlocksOfMultiprocessor, [&](dim3 grid, auto order) {
      const auto kernel = differentiate<T, decltype(order)>;
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
            "differentiating attention");
      kernel<<<grid, kThreads, kShared, current_stream()>>>(call, gradients, facts, parts, scale);
    });
    sum_parts(parts.sums, static_cast<int>(part_count), width, static_cast<T*>(gradients.d_bias));
  });
  check(cudaGetLastError(), "differentiating attention");
}

}  // namespace myxtts
