// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace myxtts {

// Whether convolutions of x run faster with each place's channels together in memory: a GPU's do in
// half precision, where the other order is copied into this one and back around each of them.
inline bool prefers_channels_last(const at::Tensor& x) {
  return x.is_cuda() && x.scalar_type() != at::kFloat;
}

}  // namespace myxtts
