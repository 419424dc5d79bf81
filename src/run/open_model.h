// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "config/model.h"
#include "config/model_json.h"
#include "config/run_config.h"
#include "model/named_tensors.h"
#include "run/checkpoint_saver.h"

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

// Those of the file's tensors that a stage trains, or those that it does not. A checkpoint holds
// the trained ones anew and everything else of the model as it was.
NamedTensors trained_tensors(const PartFacts& stage, const NamedTensors& of_file);
NamedTensors untrained_tensors(const PartFacts& stage, const NamedTensors& of_file);

// The state and tensors that a run continues from, on the CPU: they share the mapped files. The
// weights are those that the stage trains. Throws DataError that names the file.
CheckpointContents open_checkpoint(const Checkpoint& checkpoint, const PartFacts& stage);

}  // namespace myxtts
