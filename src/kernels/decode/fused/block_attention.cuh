// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/decode/fused/block.cuh"

namespace myxtts::fused {

// One query over the keys, by the blocks of a head.

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::poll_at(int what, int row) const -> Numbers {
  const float* const place = mail_ + mail_index(kMailQkv + what * kWidth, row, 0) +
                             head_ * kHeadWidth + lane_ % kLanesOfKey * 8;
  return {poll4(place), poll4(place + 4)};
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::receive_head(int row, bool newest, float (&q)[8],
                                                           float (&k)[8], float (&v)[8]) const
    -> void {
  Numbers a = poll_at(0, row);
  Numbers b = a, c = a;
  if (newest) {
    b = poll_at(1, row);
    c = poll_at(2, row);
  }
  while (!a.all_published()) a = poll_at(0, row);
  a.get(q);
#pragma unroll
  for (int i = 0; i < 8; ++i) q[i] *= 0.125F * 1.4426950408889634F;  // 1 / sqrt(64)
  if (!newest) return;
  while (!b.all_published()) b = poll_at(1, row);
  while (!c.all_published()) c = poll_at(2, row);
  b.get(k);
  c.get(v);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    k[i] = rounded(k[i]);
    v[i] = rounded(v[i]);
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::score_of(const float (&q)[8], const float (&k)[8])
    -> float {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum += q[i] * k[i];
  sum += __shfl_xor_sync(~0U, sum, 1);
  sum += __shfl_xor_sync(~0U, sum, 2);
  return sum + __shfl_xor_sync(~0U, sum, 4);
}

template <int kRows>
template <int kMostTurns>
__device__ __forceinline__ auto Block<kRows>::scores_of(const std::uint8_t* slot, int first,
                                                        int stride, int count, const float (&q)[8],
                                                        float (&scores)[kMostTurns + 1],
                                                        Part& part) const -> void {
  const uint4* const keys = reinterpret_cast<const uint4*>(slot) + lane_ % kLanesOfKey;
#pragma unroll
  for (int turn = 0; turn < kMostTurns; ++turn) {
    const int key = first + turn * stride;
    float k[8] = {};
    if (key < count) unpack(keys[key * kLanesOfKey], k);
    const float score = score_of(q, k);
    scores[turn] = key < count ? score : -INFINITY;
    part.most = fmaxf(part.most, scores[turn]);
  }
}

template <int kRows>
template <int kMostTurns>
__device__ __forceinline__ auto Block<kRows>::mix(const std::uint8_t* slot, int first, int stride,
                                                  int count, const float (&scores)[kMostTurns + 1],
                                                  Part& part) const -> void {
  const uint4* const values = reinterpret_cast<const uint4*>(slot) + lane_ % kLanesOfKey;
#pragma unroll
  for (int turn = 0; turn < kMostTurns; ++turn) {
    const int key = first + turn * stride;
    if (key >= count) continue;
    float v[8];
    unpack(values[key * kLanesOfKey], v);
    add_value(exp2f(scores[turn] - part.most), v, part);
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::add_value(float weight, const float (&v)[8],
                                                        Part& part) -> void {
  part.total += weight;
#pragma unroll
  for (int i = 0; i < 8; ++i) part.mixed[i] += weight * v[i];
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::score_newest(const float (&q)[8], const float (&k)[8],
                                                           float& score, Part& part) const -> void {
  const float found = score_of(q, k);
  if (lane_ < kLanesOfKey) score = found;
  part.most = fmaxf(part.most, score);
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::join_most(Part& part) -> void {
  part.most = fmaxf(part.most, __shfl_xor_sync(~0U, part.most, 8));
  part.most = fmaxf(part.most, __shfl_xor_sync(~0U, part.most, 16));
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::keep_part(Part& part, float* to) const -> void {
#pragma unroll
  for (int step = 8; step < 32; step <<= 1) {
    part.total += __shfl_xor_sync(~0U, part.total, step);
#pragma unroll
    for (int i = 0; i < 8; ++i) part.mixed[i] += __shfl_xor_sync(~0U, part.mixed[i], step);
  }
  if (lane_ < kLanesOfKey) {
#pragma unroll
    for (int i = 0; i < 8; ++i) to[lane_ * 8 + i] = part.mixed[i];
  }
  if (lane_ == 0) {
    to[kHeadWidth] = part.most;
    to[kHeadWidth + 1] = part.total;
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::attend() -> void {
  const Share share = share_of(now_[0], place_);
  if (!share.mine) return;
  float q[8], k[8], v[8];
  const bool newest = place_ == 0 && warp_ == 0;
  receive_head(0, newest, q, k, v);
  Part part;
  float scores[kTurns + 1];
  scores[kTurns] = -INFINITY;
  const int first = warp_ * kKeysOfWarp + lane_ / kLanesOfKey;
  int slot = 0;
  if (share.count > 0) slot = take();
  scores_of<kTurns>(ring_.slots + slot * kSlotBytes, first, kKeysOfTurn, share.count, q, scores,
                    part);
  if (share.count > 0) release(slot);
  if (newest) score_newest(q, k, scores[kTurns], part);
  join_most(part);
  if (share.count > 0) slot = take();
  mix<kTurns>(ring_.slots + slot * kSlotBytes, first, kKeysOfTurn, share.count, scores, part);
  if (share.count > 0) release(slot);
  if (newest && lane_ < kLanesOfKey) add_value(exp2f(scores[kTurns] - part.most), v, part);

  float* const parts = parts_ + (turn_ & 1) * kWarps * kPartFloats;
  ++turn_;
  keep_part(part, parts + warp_ * kPartFloats);
  sync_computing();
  const Joined joined = join(parts, kWarps);
  const int at = head_ * kBlocksOfHead + place_;
#pragma unroll
  for (int i = 0; i < kReplicas; i += kComputing / kHeadWidth) {
    publish_at(mail_index(kMailParts, 0, i + thread_ / kHeadWidth) + at * kHeadWidth +
                   thread_ % kHeadWidth,
               joined.mixed);
  }
  if (thread_ < 2 * kReplicas) {
    publish_at(mail_index(kMailSums, 0, thread_ / 2) + at * 2 + thread_ % 2,
               thread_ % 2 == 0 ? joined.most : joined.total);
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::attend_rows() -> void {
  int task = 0;
  for (int row = place_; row < rows_; row += kBlocksOfHead) {
    for (int i = 0; i < parts_of(row); ++i, ++task) {
      const bool streamed = i < tasks_of(now_[row]);
      int slot = 0;
      if (streamed) slot = take();
      if (task % kWarps == warp_) do_task(row, i, slot, parts_ + task * kPartFloats);
      if (streamed) release(slot);
    }
  }
  ++turn_;
  sync_computing();
  task = 0;
  for (int row = place_; row < rows_; row += kBlocksOfHead) {
    // Both rows are joined at once, by different warps.
    if (thread_ / kHeadWidth == row / kBlocksOfHead) {
      const Joined joined = join(parts_ + task * kPartFloats, parts_of(row));
      const float mixed = now_[row].finished != 0 ? 0.0F : joined.mixed / joined.total;
      for (int i = 0; i < kReplicas; ++i) {
        publish_at(mail_index(kMailMixed, row, i) + head_ * kHeadWidth + thread_ % kHeadWidth,
                   mixed);
      }
    }
    task += parts_of(row);
  }
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::parts_of(int row) const -> int {
  return now_[row].finished != 0 ? 0 : max(1, tasks_of(now_[row]));
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::do_task(int row, int i, int slot, float* to) -> void {
  float q[8], k[8], v[8];
  receive_head(row, i == 0, q, k, v);
  Part part;
  float scores[kTaskTurns + 1];
  scores[kTaskTurns] = -INFINITY;
  const int first = lane_ / kLanesOfKey;
  const int count = min(kTaskKeys, now_[row].past - i * kTaskKeys);
  const std::uint8_t* const keys = ring_.slots + slot * kSlotBytes;
  scores_of<kTaskTurns>(keys, first, kKeysOfWarp, count, q, scores, part);
  if (i == 0) score_newest(q, k, scores[kTaskTurns], part);
  join_most(part);
  mix<kTaskTurns>(keys + kTaskKeys * kKeyBytes, first, kKeysOfWarp, count, scores, part);
  if (i == 0 && lane_ < kLanesOfKey) add_value(exp2f(scores[kTaskTurns] - part.most), v, part);
  keep_part(part, to);
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::join(const float* parts, int count) const -> Joined {
  Joined joined = {-INFINITY, 0, 0};
  for (int i = 0; i < count; ++i) {
    joined.most = fmaxf(joined.most, parts[i * kPartFloats + kHeadWidth]);
  }
  for (int i = 0; i < count; ++i) {
    const float* const part = parts + i * kPartFloats;
    const float weight = exp2f(part[kHeadWidth] - joined.most);  // 0 for a part without keys
    joined.mixed += weight * part[thread_ % kHeadWidth];
    joined.total += weight * part[kHeadWidth + 1];
  }
  return joined;
}

template <int kRows>
__device__ __forceinline__ auto Block<kRows>::receive_attention() -> void {
  const int splits = share_of(now_[0], place_).splits;
  const std::int64_t head = thread_ / 16 * kBlocksOfHead;
  const float* const parts = inbox(kMailParts, 0) + head * kHeadWidth + thread_ % 16 * 4;
  const float* const sums = inbox(kMailSums, 0) + head * 2;
  float4 part[kBlocksOfHead];
  float2 sum[kBlocksOfHead];
  bool all = false;
  while (!all) {
#pragma unroll
    for (int i = 0; i < kBlocksOfHead; ++i) {
      if (i >= splits) break;
      part[i] = poll4(parts + i * kHeadWidth);
      sum[i] = poll2(sums + i * 2);
    }
    all = true;
#pragma unroll
    for (int i = 0; i < kBlocksOfHead; ++i) {
      if (i < splits) all = all && is_published(part[i]) && is_published(sum[i]);
    }
  }
  float most = -INFINITY;
#pragma unroll
  for (int i = 0; i < kBlocksOfHead; ++i) {
    if (i < splits) most = fmaxf(most, sum[i].x);
  }
  float4 mixed = {};
  float total = 0;
#pragma unroll
  for (int i = 0; i < kBlocksOfHead; ++i) {
    if (i >= splits) break;
    const float weight = exp2f(sum[i].x - most);
    total += weight * sum[i].y;
    mixed.x += weight * part[i].x;
    mixed.y += weight * part[i].y;
    mixed.z += weight * part[i].z;
    mixed.w += weight * part[i].w;
  }
  const float factor = 1.0F / total;
  x_[0] = make_float4(mixed.x * factor, mixed.y * factor, mixed.z * factor, mixed.w * factor);
}

}  // namespace myxtts::fused
