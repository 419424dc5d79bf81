// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/fused/block.cuh"

namespace myxtts::fused {

// What comes to a block: weights, keys, constants, and what others tell.

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
__device__ __forceinline__ auto Block<kRows>::tell_at(int at, float value) const -> void {
  tell(told_ + at, told_ + at + wiped_, value);
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::turn_to_layer() -> void {
  constexpr int kOther = kTurnsOfLayers / 2;
  const int turn = (step_.first_turn + layer_) & (kTurnsOfLayers - 1);
  const int each = kReplicas * rows_ * kTellFloats;
  told_ = step_.told + turn * each;
  wiped_ = (turn < kOther ? kOther : -kOther) * each;
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
__device__ __forceinline__ auto Block<kRows>::hear_x(int what) -> void {
  float4 heard[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (row < rows_) heard[row] = look4(hearing(what, row) + 4 * thread_);
  }
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (row >= rows_) break;
    x_[row] = told(heard[row]) ? heard[row] : hear4(hearing(what, row) + 4 * thread_);
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
