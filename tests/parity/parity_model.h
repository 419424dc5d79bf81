// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "config/model.h"
#include "model/named_tensors.h"

namespace myxtts::test {

// What the parity program takes of a model directory.
struct ParityModel {
  ModelConfig config;
  NamedTensors weights;  // of model.safetensors, fp32; those of the GPT want gradients
};

ParityModel read_model(const std::filesystem::path& directory);

}  // namespace myxtts::test
