// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/training/flash_attention.h"

namespace myxtts {

// Causal attention within segments by kernels of our own, made for many short rows. The backward
// pass writes the gradients of queries, keys and values side by side and sums them for the bias
// that the projection owes. Equal inputs and random numbers give equal bits.

// Whether the kernels take these rows: half precision, heads of 64, a GPU of sm_80 or newer.
bool fits_row_attention(const at::Tensor& qkv, std::int64_t heads);

// As flash_attention(), of rows that fit; the segments' ends are [segments + 1] of 32 bits and end
// with N.
at::Tensor row_attention(const Projection& qkv, std::int64_t heads, const PackedSegments& segments,
                         double dropout);

}  // namespace myxtts
