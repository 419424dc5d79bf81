// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/training/linear.h"

namespace myxtts {

// Attention of every frame of a clip to every other, by the kernel that LibTorch would choose.
// Where that is cuDNN's, the backward pass joins the gradients of queries, keys and values and pays
// the bias that the projection owes in one pass.
//
// qkv [B · F, 3 · D], split into heads and each head into query, key and value -> [B · F, D]
at::Tensor frame_attention(const Projection& qkv, std::int64_t clips, std::int64_t heads);

// The expression that it is compared with: autograd joins.
namespace plain {
at::Tensor frame_attention(const at::Tensor& qkv, std::int64_t clips, std::int64_t heads);
}  // namespace plain

}  // namespace myxtts
