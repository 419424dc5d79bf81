// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/tensor_spec.h"

namespace myxtts {

// How many numbers an optimiser would train: those of parameters, not of buffers or counters.
std::int64_t parameter_count(const TensorSpecs& specs);

}  // namespace myxtts
