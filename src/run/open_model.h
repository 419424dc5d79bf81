// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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

// The model folder that `flag`, --model or --init, names with `given`. For a run directory it is
// RUN/best, or RUN/latest where there is no best one, and which is said; a name without a path that
// is not in the working directory is a model of models_folder(). Throws DataError: where
// there is no model, and for a folder of the public layout, with the command that imports it.
std::filesystem::path find_model(std::string_view flag, const std::filesystem::path& given);

// Throws DataError that says which file is missing or wrong, and every tensor at fault.
OpenModel open_model(const std::filesystem::path& folder);

// Those of the file's tensors that a part trains, or those that it does not. A checkpoint holds
// the trained ones anew and everything else of the model as it was.
NamedTensors trained_tensors(const PartFacts& part, const NamedTensors& of_file);
NamedTensors untrained_tensors(const PartFacts& part, const NamedTensors& of_file);

// Whether a part of the model in a folder is as a new model has it (is_as_initialised()). False of
// a folder where that cannot be told: one without the part's file, or with another model's.
bool is_untrained(const std::filesystem::path& folder, ModelPart part);

// Those of the parts that a model speaks with: dvae, gpt and decoder. A model speaks where none is.
std::vector<ModelPart> untrained_parts(const std::filesystem::path& folder);

// Says that a model makes noise where parts of it were never trained, and how to train them. What
// the run that begins trains itself (`trained_now`) is not said.
void warn_of_untrained_parts(const std::filesystem::path& folder,
                             const std::vector<ModelPart>& trained_now = {});

// Throws DataError that names the file and the tensor where a weight is not a finite number. Reads
// every weight.
void require_finite(const OpenModel& model, const std::filesystem::path& folder);

// The state and tensors that a run continues from, on the CPU: they share the mapped files. The
// weights are those that the part trains. Throws DataError that names the file.
CheckpointContents open_checkpoint(const Checkpoint& checkpoint, const PartFacts& part);

}  // namespace myxtts
