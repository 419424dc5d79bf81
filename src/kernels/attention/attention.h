// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/ops/linear.h"

namespace myxtts {

// Rows packed one after another, each a segment that sees only itself.
struct PackedSegments {
  const at::Tensor& ends;  // [segments + 1] of 32 bits, from 0 to all rows
  std::int64_t longest;
};

// Causal attention in half precision within each segment: kernels of our own where row_attention.h
// says that they fit, else LibTorch's flash kernels, whose backward pass joins the gradients of
// queries, keys and values and computes the deferred bias gradient in one pass.
//
// qkv [N, 3 · D] as [q | k | v], each split into heads -> [N, D]
at::Tensor flash_attention(const Projection& qkv, std::int64_t heads,
                           const PackedSegments& segments, double dropout);

// The expression that it is compared with: autograd joins.

namespace plain {

at::Tensor flash_attention(const at::Tensor& qkv, std::int64_t heads,
                           const PackedSegments& segments, double dropout);

}  // namespace plain

// Causal attention within segments by kernels of our own, made for many short rows. The backward
// pass writes the gradients of queries, keys and values side by side and sums them for the
// deferred bias gradient. Equal inputs and random numbers give equal bits.

// Whether the kernels take these rows: half precision, heads of 64, a GPU of sm_80 or newer.
bool fits_row_attention(const at::Tensor& qkv, std::int64_t heads);

// As flash_attention(), of rows that fit; the segments' ends are [segments + 1] of 32 bits and end
// with N.
at::Tensor row_attention(const Projection& qkv, std::int64_t heads, const PackedSegments& segments,
                         double dropout);

// Attention of every frame of a clip to every other, by the kernel that LibTorch would choose.
// Where that is cuDNN's, the backward pass joins the gradients of queries, keys and values and
// computes the deferred bias gradient in one pass.
//
// qkv [B · F, 3 · D], split into heads and each head into query, key and value -> [B · F, D]
at::Tensor frame_attention(const Projection& qkv, std::int64_t clips, std::int64_t heads);

// The expression that it is compared with: autograd joins.

namespace plain {

at::Tensor frame_attention(const at::Tensor& qkv, std::int64_t clips, std::int64_t heads);

}  // namespace plain

}  // namespace myxtts
