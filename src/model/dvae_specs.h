// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/networks.h"
#include "model/tensor_spec.h"

namespace myxtts {

// The tensors of the DVAE, relative to it: in dvae.safetensors they stand without a prefix.
TensorSpecs dvae_specs(const DvaeConfig& config);

}  // namespace myxtts
