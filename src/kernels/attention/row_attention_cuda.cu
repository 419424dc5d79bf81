// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>

#include "device/cuda/runtime.h"
#include "kernels/attention/fragments.cuh"
#include "kernels/attention/row_attention.cuh"

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

// What a block of threads does for 128 queries of a segment; each warp for 32 of them.
template <typename T>
class BlockAttention {
 public:
  __device__ BlockAttention(const RowAttention& call, const Dropout& dropout,
                            const Segment& segment, int block, char* shared)
      : call_(call),
        segment_(segment),
        bits_(dropout),
        lane_(static_cast<int>(threadIdx.x) % kWarp),
        places_(lane_),
        u_(owned_group(segment, block)),
        own_rows_(shared + (u_ - block * kWarps) * kGroupBytes),
        tiles_(shared_address(shared) + kOwnedBytes),
        kept_(call.kept + kept_block(call, segment, u_, 0) + lane_) {
    ask_for_rows<kOwned>(shared_address(shared), part(0), block * kOwned, segment.length);
  }

  // Keys and, behind them, values.
  __device__ void ask_for_tile(int tile) const {
    ask_for_rows<kTile>(tile_at(tile), part(1), tile * kTile, segment_.length);
    ask_for_rows<kTile>(tile_at(tile) + kTileBytes, part(2), tile * kTile, segment_.length);
  }

  __device__ void read_own() { queries_.read(shared_address(own_rows_), places_); }

  __device__ void pass_tile(int tile) {
#pragma unroll 1
    for (int half = 0; half < kTileGroups; ++half) {
      const int v = tile * kTileGroups + half;
      if (v > u_ || u_ >= segment_.groups()) break;
      std::uint32_t kept = kAllKept;
      if (call_.kept != nullptr) {
        kept = bits_.draw(segment_, u_, v, lane_);
        kept_[v * kGroup] = kept;
      }
      const std::uint32_t keys = tile_at(tile) + half * kGroupBytes;
      Square scores;
      multiply<T>(scores, queries_, keys, places_);
      if (u_ == v) hide_later_keys<false>(scores, lane_);
      mix_group<T>(scores, softmax_, mixed_, kept, keys + kTileBytes, places_);
    }
  }

  __device__ void write(float dropout_scale) {
    if (u_ >= segment_.groups()) return;
    finish_softmax(softmax_, mixed_, dropout_scale, segment_.of_rows(call_, call_.log_sums),
                   u_ * kGroup, segment_.length);
    write_rows<T>(mixed_, own_rows_, segment_.of_mixed(call_, static_cast<T*>(call_.mixed)),
                  u_ * kGroup, segment_.length);
  }

 private:
  __device__ Rows<const T> part(int number) const {
    return segment_.of_qkv(call_, static_cast<const T*>(call_.qkv), number);
  }
  __device__ std::uint32_t tile_at(int tile) const {
    return tiles_ + tile % 2 * 2 * kTileBytes;
  }

  const RowAttention& call_;
  const Segment& segment_;
  KeptBits bits_;
  int lane_;
  LanePlaces places_;
  int u_;  // the warp's group of queries
  char* own_rows_;
  std::uint32_t tiles_;
  std::uint32_t* kept_;  // this lane's, of the first keys
  SharedRows queries_;   // in registers they would leave too few
  Softmax softmax_;
  Strip mixed_ = {};
};

template <typename T, typename Order>
__device__ void attend_block(const RowAttention& call, const Dropout& dropout, char* shared) {
  const Segment segment(call, Order{});
  const int block = segment.blocks() - 1 - Order::number();
  if (block < 0) return;
  BlockAttention<T> attention(call, dropout, segment, block, shared);
  attention.ask_for_tile(0);
  const int last = min(segment.tiles(), (block + 1) * (kOwned / kTile)) - 1;
  for (int tile = 0; tile <= last; ++tile) {
    finish_copies();
    __syncthreads();
    if (tile == 0) attention.read_own();
    if (tile < last) attention.ask_for_tile(tile + 1);
    attention.pass_tile(tile);
  }
  attention.write(dropout.scale);
}

template <typename T, typename Order>
__global__ void __launch_bounds__(kThreads, kBlocksOfMultiprocessor)
    attend(RowAttention call, Dropout dropout) {
  extern __shared__ __align__(kRowBytes) char shared[];
  attend_block<T, Order>(call, dropout, shared);
}

}  // namespace

void cuda::row_attention_forward(const RowAttention& call) {
  const Dropout dropout = make_dropout(kept_dropout(call), 4 * kDraws);
  with_half(call.number, [&](auto number) {
    with_grid(call, 1, kBlocksOfMultiprocessor, [&](dim3 grid, auto order) {
      const auto kernel = attend<decltype(number), decltype(order)>;
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
            "attention");
      kernel<<<grid, kThreads, kShared, current_stream()>>>(call, dropout);
    });
  });
  check(cudaGetLastError(), "attention");
}

// Asynchronous copies and products of bf16 came with Ampere.
bool cuda::row_attention_fits_gpu() {
  int device = 0;
  int capability = 0;
  check(cudaGetDevice(&device), "asking for the GPU");
  check(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, device),
        "asking what a GPU can do");
  return capability >= 8;
}

std::int64_t cuda::row_attention_kept_words(const RowAttention& call) {
  return kept_words(call);
}

}  // namespace myxtts
