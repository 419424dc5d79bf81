// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "config/train.h"

namespace myxtts {

// Sets how LibTorch multiplies fp32 matrices (tf32 or not) and whether it may use operations whose
// results differ from run to run. For the whole process.
void set_arithmetic(Precision precision, bool deterministic);

// What a network computes in.
at::ScalarType type_of(Precision precision);

}  // namespace myxtts
