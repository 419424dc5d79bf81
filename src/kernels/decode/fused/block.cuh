// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_bf16.h>

#include "kernels/decode/fused/device_ops.cuh"

namespace myxtts::fused {

// One block of the fused step; see Note [One kernel for a step]. Defined by subject in the other
// files of this folder.
template <int kRows>
class Block {
 public:
  using Plan = Layout<kRows>;
  static constexpr int kReplicas = Plan::kReplicas;

  __device__ Block(const Step& step, std::uint8_t* memory)
      : step_(step),
        tables_(step.tables),
        block_(static_cast<int>(blockIdx.x)),
        head_(block_ / kBlocksOfHead),
        place_(block_ % kBlocksOfHead),
        thread_(static_cast<int>(threadIdx.x)),
        warp_(thread_ / 32),
        lane_(thread_ % 32),
        rows_(kRows == 1 ? 1 : step.tables.row_count) {
    ring_.full = reinterpret_cast<std::uint64_t*>(memory);
    ring_.empty = ring_.full + 16;
    ring_.slots = memory + Plan::kRing;
    ring_.count = Plan::kSlots;
    now_ = reinterpret_cast<RowNow*>(ring_.full + 32);
    std::uint8_t* next = memory + Plan::kBarriers;
    operand_ = reinterpret_cast<__nv_bfloat16*>(next);
    next += Plan::kShared;
    sums_ = reinterpret_cast<float*>(next);
    next += Plan::kSums;
    moments_ = reinterpret_cast<float2*>(next);
    next += Plan::kMoments;
    parts_ = reinterpret_cast<float*>(next);
  }

  __device__ void prepare();
  // The copying warp: everything the block will need, in the order of need.
  __device__ void copy();
  // The computing warps.
  __device__ void compute();

 private:
  __device__ std::int64_t cache_place(int layer, int row) const {
    return ((static_cast<std::int64_t>(layer) * rows_ + row) * kHeads + head_) * step_.capacity *
           kHeadWidth;
  }

  // Where a number stands in the layer's set of places.
  __device__ int mail_index(int what, int row, int replica) const {
    return (replica * rows_ + row) * kMailFloats + what;
  }

  // What this block receives: its own replica.
  __device__ const float* inbox(int what, int row) const {
    return mail_ + mail_index(what, row, block_ % kReplicas);
  }

  // Stores for the other blocks, and wipes the place of the layer after next.
  __device__ void publish_at(int at, float value) const;

  // Turns to the places of the layer.
  __device__ void turn_to_layer();
  // x: this thread's four inputs of each row.
  __device__ void begin();
  __device__ void receive_x(int what);
  // What a layer needs and is not streamed. Asked for while the blocks wait for each other, for
  // memory is far.
  struct Constants {
    float4 scale1, shift1, scale2, shift2;
    float qkv_bias, out_bias, in_bias, mlp_bias;  // of a lone row's sums
  };
  __device__ void prefetch(int layer);
  __device__ float4 four(const float* from) const {
    return *reinterpret_cast<const float4*>(from + 4 * thread_);
  }

  // Layer norm of x in place.
  __device__ void normalise(const float4& factor, const float4& offset);
  // Mean and sum of squared distances from it, of the warp's 128 numbers.
  __device__ float2 warp_moments(const float4& x) const;
  __device__ float2 joined_moments(const float2* parts) const;
  // Puts this thread's four inputs of each row where its warp takes them from: a warp multiplies
  // only what its own threads hold, so no barrier of the block is needed.
  __device__ void put_operand(int quarter);
  __device__ __nv_bfloat16* operand_at(int quarter, int row, int half) const {
    return operand_ + ((quarter * kRows + row) * 2 + half) * Plan::kOperandStride;
  }

  // The warp's 128 inputs as the tensor core wants them: four pieces of 32.
  static constexpr int kSets = kRows > 8 ? 2 : 1;
  struct Operand {
    std::uint32_t a[kSets][8][4];
  };
  __device__ void get_operand(int quarter, Operand& operand) const;
  __device__ static void set(std::uint32_t (&a)[8][4], int piece, const uint4& top,
                             const uint4& bottom);
  // Waits for the ring's next place and gives its number.
  __device__ int take();
  // The warp needs the place no more.
  __device__ void release(int slot);
  // Chunks times the warp's inputs, c[i] for chunk i. Products of one tile wait for each other, so
  // tiles take turns and a tile has several sums.
  template <int kTiles>
  __device__ void multiply_chunks(const Operand& operand, float (&c)[kTiles][4]);
  // The warp's part of a tile of 8 outputs, for add_up().
  __device__ void put_sums(int tile, const float (&c)[4]);
  // Element `index` = row * 8 + column of a tile, over all warps.
  __device__ float sum_of(const float* sums, int tile, int index) const;
  // Ends a turn of products: gives where the sums of all warps are. Two sets take turns, so that
  // one barrier is enough.
  __device__ const float* end_sums();
  template <int kTiles>
  __device__ const float* multiply_tiles();
  __device__ void make_qkv();
  // Eight numbers of the head's q, k or v: those of this lane.
  struct Numbers {
    float4 low;
    float4 high;
    __device__ bool all_published() const { return is_published(low) && is_published(high); }
    __device__ void get(float (&to)[8]) const {
      to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
      to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
    }
  };
  __device__ Numbers poll_at(int what, int row) const;
  // The head's query, in bits of the softmax; and the newest key and value where asked for, as they
  // are rounded in the cache.
  __device__ void receive_head(int row, bool newest, float (&q)[8], float (&k)[8],
                               float (&v)[8]) const;
  __device__ static float score_of(const float (&q)[8], const float (&k)[8]);
  // What a warp finds over some keys: the largest score, and relative to it the sum of weights and,
  // in each lane, eight numbers of the weighted values.
  struct Part {
    float most = -INFINITY;
    float total = 0;
    float mixed[8] = {};
  };

  // Eight lanes take a key, four keys a warp: keys first, first + stride, ... below count.
  template <int kMostTurns>
  __device__ void scores_of(const std::uint8_t* slot, int first, int stride, int count,
                            const float (&q)[8], float (&scores)[kMostTurns + 1], Part& part) const;
  template <int kMostTurns>
  __device__ void mix(const std::uint8_t* slot, int first, int stride, int count,
                      const float (&scores)[kMostTurns + 1], Part& part) const;
  __device__ static void add_value(float weight, const float (&v)[8], Part& part);
  // The newest key, by the first eight lanes.
  __device__ void score_newest(const float (&q)[8], const float (&k)[8], float& score,
                               Part& part) const;
  __device__ static void join_most(Part& part);
  // Adds up the four groups of lanes and leaves the part in shared memory.
  __device__ void keep_part(Part& part, float* to) const;
  // A lone row: this block's share of the head's keys, divided among all warps.
  __device__ void attend();
  // Several rows: this block has its head of rows place, place + 8, and each warp takes tasks. All
  // warps go through all places of the ring, or a fast one could mistake a phase for another.
  __device__ void attend_rows();
  // Without past keys there is a part all the same, for the newest.
  __device__ int parts_of(int row) const;
  // Keys [64 i, 64 i + 64) of a row, and with the first of them the newest.
  __device__ void do_task(int row, int i, int slot, float* to);
  // Parts as one: the thread's number of the head.
  struct Joined {
    float most;
    float total;
    float mixed;
  };
  __device__ Joined join(const float* parts, int count) const;
  // x: the thread's four numbers of what attention gave, joined from the parts of their head.
  __device__ void receive_attention();
  // The block's 8 columns of the residual stream: thread (replica * rows + row) * 8 + column keeps
  // one, and publishes one replica.
  __device__ void add_to_own(const float* sums, float bias, int what);
  __device__ void add_attention();
  __device__ int own_column() const { return block_ * kColumns + thread_ % kColumns; }

  __device__ void make_hidden();
  __device__ void add_mlp();
  static constexpr int kQuarters = Plan::kOperandQuarters;  // of the inner layer received at once

  __device__ void poll_hidden(int first, float4 (&received)[kQuarters][kRows]) const;
  __device__ void receive_hidden(int quarter, const float4 (&received)[kRows]);
  // The last norms, the head and the choice; row r is chosen for by block 8 r.
  __device__ void finish();
  __device__ void keep_latents() const;
  __device__ void choose();
  const Step& step_;
  const RowTables& tables_;
  const int block_;
  const int head_;   // whose q, k, v this block makes and whose keys it reads
  const int place_;  // among the blocks of the head
  const int thread_;
  const int warp_;
  const int lane_;
  const int rows_;
  Ring ring_;
  RowNow* now_;  // [rows]
  __nv_bfloat16* operand_;
  float* sums_;
  float2* moments_;
  float* parts_;
  const float* floats_ = nullptr;  // of the layer
  float* mail_ = nullptr;          // the layer's set of places
  int cleared_ = 0;                // from there to the set of two layers before, in floats
  int layer_ = 0;
  int turn_ = 0;  // which of two sets of shared memory the next barrier is for
  Constants constants_;
  float4 x_[kRows];
  float own_x_ = 0;
};

// What comes to a block: weights, keys, constants, and what others publish.

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::prepare() -> void {
  if (thread_ == 0) {
    for (int i = 0; i < Plan::kSlots; ++i) {
      barrier_init(ring_.full + i, 1);
      barrier_init(ring_.empty + i, kWarps);
    }
    for (int i = 0; i < rows_; ++i) {
      const DeviceRow& row = tables_.rows[i];
      now_[i] = {row.prefix + row.step, row.finished};
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::copy() -> void {
  if (lane_ != 0) return;
  const std::uint64_t policy = read_once_policy();
  const std::uint8_t* next =
      step_.network.stream +
      static_cast<std::int64_t>(block_) *
          ((static_cast<std::int64_t>(step_.network.layers) * kLayerChunks + kHeadChunks) *
           kChunkBytes);
  std::uint32_t turn = 0;
  const auto claim = [&] {  // waits for a free place
    if (turn >= static_cast<std::uint32_t>(ring_.count)) {
      barrier_wait(ring_.empty + ring_.slot, ring_.phase ^ 1U);
    }
    if (turn++ >= static_cast<std::uint32_t>(kUnderWay)) {
      const int before = ring_.slot - kUnderWay;
      barrier_wait(ring_.full + (before < 0 ? before + ring_.count : before),
                   before < 0 ? ring_.phase ^ 1U : ring_.phase);
    }
    return ring_.slots + ring_.slot * kSlotBytes;
  };
  const auto fetch = [&](std::uint8_t* to, const void* from, int bytes) {
    copy_to_shared(to, from, static_cast<std::uint32_t>(bytes), ring_.full + ring_.slot, policy);
  };
  const auto put = [&](const void* from, int bytes) {
    std::uint8_t* const to = claim();
    barrier_expect(ring_.full + ring_.slot, static_cast<std::uint32_t>(bytes));
    fetch(to, from, bytes);
    ring_.move_on();
  };
  const auto put_both = [&](const void* keys, const void* values, int bytes) {
    std::uint8_t* const to = claim();
    barrier_expect(ring_.full + ring_.slot, 2 * static_cast<std::uint32_t>(bytes));
    fetch(to, keys, bytes);
    fetch(to + kTaskKeys * kKeyBytes, values, bytes);
    ring_.move_on();
  };
  const auto chunks = [&](int count) {
#pragma unroll 1
    for (int i = 0; i < count; ++i, next += kChunkBytes) put(next, kChunkBytes);
  };
#pragma unroll 1
  for (int layer = 0; layer < step_.network.layers; ++layer) {
    chunks(3);
    if constexpr (kRows == 1) {
      const Share share = share_of(now_[0], place_);
      const std::int64_t at = cache_place(layer, 0) + share.first * kHeadWidth;
      if (share.count > 0) put(step_.keys + at, share.count * kKeyBytes);
      if (share.count > 0) put(step_.values + at, share.count * kKeyBytes);
    } else {
      for (int row = place_; row < rows_; row += kBlocksOfHead) {
        for (int key = 0; key < tasks_of(now_[row]) * kTaskKeys; key += kTaskKeys) {
          const std::int64_t at = cache_place(layer, row) + key * kHeadWidth;
          const int count = min(kTaskKeys, now_[row].past - key);
          put_both(step_.keys + at, step_.values + at, count * kKeyBytes);
        }
      }
    }
    chunks(1 + 4 + 4);
  }
  chunks(block_ == 0 ? 2 : 1);
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::publish_at(int at, float value) const -> void {
  publish(mail_ + at, mail_ + at + cleared_, value);
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::turn_to_layer() -> void {
  constexpr int kOther = kTurnsOfLayers / 2;
  const int turn = (step_.first_turn + layer_) & (kTurnsOfLayers - 1);
  const int each = kReplicas * rows_ * kMailFloats;
  mail_ = step_.mail + turn * each;
  cleared_ = (turn < kOther ? kOther : -kOther) * each;
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::begin() -> void {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (row >= rows_) break;
    const DeviceRow& state = tables_.rows[row];
    const std::int64_t id = static_cast<std::int64_t>(state.next) * kWidth;
    const std::int64_t position = static_cast<std::int64_t>(state.step) * kWidth;
    const float4 a = *reinterpret_cast<const float4*>(step_.network.embedding + id + 4 * thread_);
    const float4 b =
        *reinterpret_cast<const float4*>(step_.network.positions + position + 4 * thread_);
    x_[row] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    if (thread_ % (rows_ * kColumns) / kColumns == row) {
      const int column = own_column();
      own_x_ = step_.network.embedding[id + column] + step_.network.positions[position + column];
    }
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::receive_x(int what) -> void {
  float4 received[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (row < rows_) received[row] = poll4(inbox(what, row) + 4 * thread_);
  }
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (row >= rows_) break;
    x_[row] =
        is_published(received[row]) ? received[row] : wait_for4(inbox(what, row) + 4 * thread_);
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::prefetch(int layer) -> void {
  if (layer >= step_.network.layers) {
    constants_.scale1 = four(step_.network.last_norm.scale);
    constants_.shift1 = four(step_.network.last_norm.shift);
    constants_.scale2 = four(step_.network.final_norm.scale);
    constants_.shift2 = four(step_.network.final_norm.shift);
    return;
  }
  const float* const f = step_.network.floats + static_cast<std::int64_t>(layer) * kLayerFloats;
  constants_.scale1 = four(f + kScale1);
  constants_.shift1 = four(f + kShift1);
  constants_.scale2 = four(f + kScale2);
  constants_.shift2 = four(f + kShift2);
  if constexpr (kRows == 1) {
    if (thread_ < 24) constants_.qkv_bias = f[kQkvBias + thread_ / 8 * kWidth + own_column()];
    constants_.in_bias = f[kInBias + block_ * kHiddenColumns + thread_ % kHiddenColumns];
    constants_.out_bias = f[kOutBias + own_column()];
    constants_.mlp_bias = f[kMlpOutBias + own_column()];
  } else {
    // The biases' lines come to L2 at least.
    const int line = (block_ * kComputing + thread_) * 32;
    if (line < kLayerFloats) asm volatile("prefetch.global.L2 [%0];" ::"l"(f + line));
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::take() -> int {
  barrier_wait(ring_.full + ring_.slot, ring_.phase);
  const int slot = ring_.slot;
  ring_.move_on();
  return slot;
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::release(int slot) -> void {
  __syncwarp();
  if (lane_ == 0) barrier_arrive(ring_.empty + slot);
}

}  // namespace myxtts::fused
