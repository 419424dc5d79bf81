// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/model_folder.h"

// The files of a checkpoint, besides those of a model folder.
namespace myxtts::files {
inline constexpr const char* kOptimiser = "optimiser.safetensors";
inline constexpr const char* kState = "state.json";
}  // namespace myxtts::files
