// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "data/cache/feature_key.h"
#include "model/named_tensors.h"

namespace myxtts {

// The key of what a model makes of clips: the content of its DVAE, mel_stats and the mel settings.
// Reads every weight once; tensors on a device are copied to the CPU for it.
FeatureKey model_key(const NamedTensors& dvae, const at::Tensor& mel_stats,
                     const MelConfig& mel = dvae_mel_config());

}  // namespace myxtts
