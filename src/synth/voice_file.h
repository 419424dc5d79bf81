// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "config/model.h"
#include "model/reference_voice.h"

namespace myxtts {

// A voice on disk: a safetensors file with gpt_cond_latent [1, latents, D] and speaker_embedding
// [1, speaker_dim, 1], as the public list of speakers has them. All throw DataError.

void write_voice(const std::filesystem::path& path, const Voice& voice);

// Checks the shapes against the model that is to speak with it.
Voice read_voice(const std::filesystem::path& path, const ModelConfig& config);

// The voice called `name` of a model folder's voices.safetensors; the message lists the names when
// there is none.
Voice read_speaker(const std::filesystem::path& model_folder, const std::string& name,
                   const ModelConfig& config);

}  // namespace myxtts
