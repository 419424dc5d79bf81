// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/training/attention/fragments.cuh"
#include "kernels/training/attention/row_attention_kernels.h"

namespace myxtts::device {

// Note [Order of blocks]
// Later rows see more, so blocks of threads differ in what they have to do. In a grid [longest /
// kOwned, heads, segments] those that read the same rows run at the same time and find them in the
// cache. In a grid [heads, segments, longest / kOwned] all that have most to do begin first, and
// none of them is left over when the others are done: worth more where there are few. Both are
// programs of their own: a choice at run time takes registers that are not there.
template <bool kHeavyFirst>
struct Order {
  // Of kOwned rows, from those with most to do on.
  __device__ static int number() { return static_cast<int>(kHeavyFirst ? blockIdx.z : blockIdx.x); }
  __device__ static int head() { return static_cast<int>(kHeavyFirst ? blockIdx.x : blockIdx.y); }
  __device__ static int segment() {
    return static_cast<int>(kHeavyFirst ? blockIdx.y : blockIdx.z);
  }
};

// What a block of threads works within: a segment and a head.
struct Segment {
  int index;
  int head;
  int start;   // its first row
  int length;  // rows

  template <bool kHeavyFirst>
  __device__ Segment(const RowAttention& call, Order<kHeavyFirst> order)
      : index(order.segment()),
        head(order.head()),
        start(call.ends[index]),
        length(call.ends[index + 1] - start) {}

  __device__ int groups() const { return (length + kGroup - 1) / kGroup; }
  __device__ int tiles() const { return (length + kTile - 1) / kTile; }
  __device__ int blocks() const { return (length + kOwned - 1) / kOwned; }

  // Query (part 0), key (1) or value (2) of the segment's rows.
  template <typename T>
  __device__ Rows<T> of_qkv(const RowAttention& call, T* qkv, int part) const {
    const std::int64_t stride = 3 * call.heads * kHeadWidth;
    return {qkv + start * stride + (part * call.heads + head) * kHeadWidth, stride};
  }
  template <typename T>
  __device__ Rows<T> of_mixed(const RowAttention& call, T* mixed) const {
    const std::int64_t stride = call.heads * kHeadWidth;
    return {mixed + start * stride + head * kHeadWidth, stride};
  }
  // Of [heads, rows].
  template <typename Number>
  __device__ Number* of_rows(const RowAttention& call, Number* numbers) const {
    return numbers + head * call.rows + start;
  }
};

// The group of a block's rows that a warp has. Warps differ in how much they see of a segment, and
// the warps of the same number share one of the multiprocessor's four schedulers: heads take turns.
__device__ inline int owned_group(const Segment& segment, int block) {
  return block * kWarps + (static_cast<int>(threadIdx.x) / kWarp + segment.head) % kWarps;
}

}  // namespace myxtts::device
