// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/training/linear.h"

namespace myxtts {

// Rows packed one after another, each a segment that sees only itself.
struct PackedSegments {
  const at::Tensor& ends;  // [segments + 1] of 32 bits, from 0 to all rows
  std::int64_t longest;
};

// Causal attention in half precision within each segment: kernels of our own where row_attention.h
// says that they fit, else LibTorch's flash kernels, whose backward pass joins the gradients of
// queries, keys and values and pays the bias that the projection owes in one pass.
//
// qkv [N, 3 · D] as [q | k | v], each split into heads -> [N, D]
at::Tensor flash_attention(const Projection& qkv, std::int64_t heads,
                           const PackedSegments& segments, double dropout);

// The expression that it is compared with: autograd joins.
namespace plain {
at::Tensor flash_attention(const at::Tensor& qkv, std::int64_t heads,
                           const PackedSegments& segments, double dropout);
}  // namespace plain

}  // namespace myxtts
