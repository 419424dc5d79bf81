// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "config/model.h"
#include "config/model_json.h"
#include "model/named_tensors.h"
#include "synth/sampling_settings.h"
#include "text/vocabulary.h"

namespace myxtts {

// A model folder opened for speaking. The tensors are fp32 and share the mapped file.
struct SpeakingModel {
  std::filesystem::path folder;
  ModelConfig config;
  ReferenceConfig reference;
  SamplingSettings sampling;
  Vocabulary vocabulary;
  NamedTensors tensors;  // names of checkpoint_specs()
};

// Throws DataError that says which file is missing or wrong, or which stage of the model has not
// been trained and how that is done. The DVAE is not needed for speaking.
SpeakingModel open_speaking_model(const std::filesystem::path& folder);

}  // namespace myxtts
