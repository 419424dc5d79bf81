// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "model/named_tensors.h"
#include "model/tensor_spec.h"

namespace myxtts {

// New tensors for a network, filled as its specs say. A tensor's values follow from `seed` and its
// name alone, whatever the device and the other tensors. Init::Constant takes the length of each
// first-dimension slice of its source (the gain of a weight-normed layer); one without a source is
// left out, for the network's own code to make.
NamedTensors initialise(const TensorSpecs& specs, std::uint64_t seed,
                        c10::Device device = c10::kCPU);

}  // namespace myxtts
