// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "model/gpt_rows.h"

namespace myxtts {

template <typename>
using TensorOf = at::Tensor;

// Packed rows as tensors on a device; see Note [Packed rows]. Graphs read the tensors at fixed
// addresses, so a batch that stays may be copied into. The counts are scalars.
using GptBatch = PackedRows<TensorOf>;

GptBatch to_batch(const GptRows& rows, c10::Device device);

}  // namespace myxtts
