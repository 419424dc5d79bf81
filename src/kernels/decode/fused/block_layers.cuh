// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/decode/fused/block.cuh"

namespace myxtts::fused {

// A layer from beginning to end, and what follows the last.

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::compute() -> void {
  begin();
  prefetch(0);
#pragma unroll 1  // the code of one layer fits the instruction cache, of several it does not
  for (layer_ = 0; layer_ < step_.network.layers; ++layer_) {
    floats_ = step_.network.floats + static_cast<std::int64_t>(layer_) * kLayerFloats;
    turn_to_layer();
    normalise(constants_.scale1, constants_.shift1);
    make_qkv();
    if constexpr (kRows == 1) {
      attend();
      receive_attention();
    } else {
      attend_rows();
      receive_x(kMailMixed);
    }
    add_attention();
    receive_x(kMailMiddle);
    normalise(constants_.scale2, constants_.shift2);
    make_hidden();
    add_mlp();
    prefetch(layer_ + 1);
    receive_x(kMailX);
  }
  finish();
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::make_qkv() -> void {
  const float* const sums = multiply_tiles<3>();
  for (int i = thread_; i < 3 * rows_ * 8; i += kComputing) {
    const int tile = i / (rows_ * 8);
    const int index = i % (rows_ * 8);
    const int row = index / 8;
    const int column = block_ * kColumns + index % 8;
    const float bias =
        kRows == 1 ? constants_.qkv_bias : floats_[kQkvBias + tile * kWidth + column];
    const float value = sum_of(sums, tile, index) + bias;
    if (now_[row].finished != 0) continue;
    publish_at(mail_index(kMailQkv + tile * kWidth, row, 0) + column, value);
    if (tile == 0) continue;
    __nv_bfloat16* const cache = tile == 1 ? step_.keys : step_.values;
    cache[cache_place(layer_, row) + static_cast<std::int64_t>(now_[row].past) * kHeadWidth +
          place_ * kColumns + index % 8] = __float2bfloat16_rn(value);
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::add_to_own(const float* sums, float bias, int what)
    -> void {
  if (thread_ >= rows_ * kColumns * kReplicas) return;
  const int index = thread_ % (rows_ * kColumns);
  own_x_ += sum_of(sums, 0, index) + bias;
  publish_at(mail_index(what, index / kColumns, thread_ / (rows_ * kColumns)) + own_column(),
             own_x_);
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::add_attention() -> void {
  const float bias = kRows == 1 ? constants_.out_bias : floats_[kOutBias + own_column()];
  add_to_own(multiply_tiles<1>(), bias, kMailMiddle);
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::make_hidden() -> void {
  const float* const sums = multiply_tiles<4>();
  // Neighbours in a warp publish 32 numbers side by side; a lone row's replicas are other warps'.
  const int count = kHiddenColumns * rows_ * (kRows == 1 ? kReplicas : 1);
  for (int i = thread_; i < count; i += kComputing) {
    const int tile = i % kHiddenColumns / 8;
    const int row = kRows == 1 ? 0 : i / kHiddenColumns;
    const int column = block_ * kHiddenColumns + i % kHiddenColumns;
    const float bias = kRows == 1 ? constants_.in_bias : floats_[kInBias + column];
    const float value = gelu_tanh(sum_of(sums, tile, row * 8 + i % 8) + bias);
    if constexpr (kRows == 1) {
      publish_at(mail_index(kMailHidden, 0, i / kHiddenColumns) + column, value);
    } else {
      for (int j = 0; j < kReplicas; ++j)
        publish_at(mail_index(kMailHidden, row, j) + column, value);
    }
  }
  // What was wiped is wiped for everyone long before the place is used again.
  __threadfence();
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::add_mlp() -> void {
  const float bias = kRows == 1 ? constants_.mlp_bias : floats_[kMlpOutBias + own_column()];
  float c[4][4] = {};
  float4 received[kQuarters][kRows];
#pragma unroll 1
  for (int first = 0; first < 4; first += kQuarters) {
    poll_hidden(first, received);
    Operand operand;
#pragma unroll
    for (int i = 0; i < kQuarters; ++i) {
      receive_hidden(first + i, received[i]);
      put_operand(i);
    }
#pragma unroll
    for (int i = 0; i < kQuarters; ++i) {
      get_operand(i, operand);
      float sums[1][4] = {};
      multiply_chunks(operand, sums);
#pragma unroll
      for (int j = 0; j < 4; ++j) c[i][j] += sums[0][j];
    }
  }
#pragma unroll
  for (int i = 1; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) c[0][j] += c[i][j];
  }
  put_sums(0, c[0]);
  add_to_own(end_sums(), bias, kMailX);
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::poll_hidden(
    int first, float4 (&received)[kQuarters][kRows]) const -> void {
#pragma unroll
  for (int i = 0; i < kQuarters; ++i) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row < rows_) {
        received[i][row] = poll4(inbox(kMailHidden + (first + i) * kWidth, row) + 4 * thread_);
      }
    }
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::receive_hidden(int quarter,
                                                             const float4 (&received)[kRows])
    -> void {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (row >= rows_) break;
    x_[row] = is_published(received[row])
                  ? received[row]
                  : wait_for4(inbox(kMailHidden + quarter * kWidth, row) + 4 * thread_);
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::finish() -> void {
  normalise(constants_.scale1, constants_.shift1);
  normalise(constants_.scale2, constants_.shift2);
  keep_latents();
  put_operand(0);
  Operand operand;
  get_operand(0, operand);
  const int tiles = block_ == 0 ? 2 : 1;
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    float c[1][4] = {};
    multiply_chunks(operand, c);
    put_sums(tile, c[0]);
  }
  const float* const sums = end_sums();
  for (int i = thread_; i < tiles * rows_ * 8; i += kComputing) {
    const int tile = i / (rows_ * 8);
    const int index = i % (rows_ * 8);
    const int id = tile * kWidth + block_ * kColumns + index % 8;
    if (id >= tables_.ids) continue;
    const float value = sum_of(sums, tile, index) + step_.network.head_bias[id];
    const int at = index / 8 * kMailLogits + id;
    publish(step_.mail_logits + at, step_.cleared_logits + at, value);
  }
  if (place_ != 0 || head_ >= rows_ || now_[head_].finished != 0) return;
  choose();
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::keep_latents() const -> void {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (row >= rows_) break;
    if (block_ != row * kBlocksOfHead || now_[row].finished != 0) continue;
    float* const latent =
        tables_.latents +
        (static_cast<std::int64_t>(row) * tables_.most_codes + tables_.rows[row].step) * kWidth;
    *reinterpret_cast<float4*>(latent + 4 * thread_) = x_[row];
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::choose() -> void {
  const int row = head_;
  sync_computing();  // the operand's memory is free
  const sampling::Workspace workspace(operand_, tables_.ids);
  const float* const places = step_.mail_logits + row * kMailLogits;
  for (int id = thread_; id < tables_.ids; id += kComputing) {
    float value;
    do {
      asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];"
                   : "=f"(value)
                   : "l"(places + id)
                   : "memory");
    } while (!is_published(value));
    workspace.logit[id] = value;
  }
  sync_computing();
  sampling::finish_step(tables_, row, workspace);
}

}  // namespace myxtts::fused
