// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/model.h"
#include "model/tensor_spec.h"

namespace myxtts {

// Every tensor of model.safetensors, which has the names of the public model.pth: the GPT, the
// decoder, the speaker encoder and the mel statistics. dvae.safetensors is dvae_specs() alone.
TensorSpecs checkpoint_specs(const ModelConfig& config);

}  // namespace myxtts
