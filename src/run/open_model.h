// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "config/model.h"
#include "config/model_json.h"
#include "model/named_tensors.h"

namespace myxtts {

// A model folder opened for computing. The tensors are fp32 and share the mapped files: what no
// network looks at is never read.
struct OpenModel {
  ModelConfig config;
  ReferenceConfig reference;
  NamedTensors model;  // names of checkpoint_specs()
  NamedTensors dvae;   // names of dvae_specs()
};

// Throws DataError that says which file is missing or wrong, and every tensor at fault.
OpenModel open_model(const std::filesystem::path& folder);

}  // namespace myxtts
