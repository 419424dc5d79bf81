// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config/model.h"
#include "model/tensor_spec.h"

namespace myxtts {

// Every tensor of the GPT, named relative to "gpt.", in the order of the public checkpoint.
TensorSpecs gpt_specs(const GptConfig& config);

// Layers of which a head can be guided: Note [Text guide] in text_guide.h.
inline constexpr int kGuidedLayers = 2;

// Rows of the perceiver's gated feed-forward: two thirds of four times the width, rounded down.
std::int64_t perceiver_hidden(const GptConfig& config);

}  // namespace myxtts
