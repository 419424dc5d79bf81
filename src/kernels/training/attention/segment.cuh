// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/training/attention/fragments.cuh"
#include "kernels/training/attention/row_attention_kernels.h"

namespace myxtts::device {

// What a block of threads works within: a segment and a head. The grid is [longest / kOwned, heads,
// segments], so that blocks of threads that read the same rows run at the same time.
struct Segment {
  int index;
  int head;
  int start;   // its first row
  int length;  // rows

  __device__ explicit Segment(const RowAttention& call)
      : index(static_cast<int>(blockIdx.z)),
        head(static_cast<int>(blockIdx.y)),
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
__device__ inline int owned_group(int block) {
  return block * kWarps +
         (static_cast<int>(threadIdx.x) / kWarp + static_cast<int>(blockIdx.y)) % kWarps;
}

}  // namespace myxtts::device
