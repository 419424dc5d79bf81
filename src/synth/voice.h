// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "config/model_json.h"
#include "model/reference_voice.h"

namespace myxtts {

// The voices of a request: its own, and those that its text names.
struct Voices {
  Voices(Voice request, std::map<std::string, Voice> named = {})
      : own(std::move(request)), by_name(std::move(named)) {}

  // The request's own for an empty name; others must be there.
  const Voice& of(const std::string& name) const { return name.empty() ? own : by_name.at(name); }

  Voice own;
  std::map<std::string, Voice> by_name;
};

// How much of reference clips a model's config.json listens to.
ReferenceLengths reference_lengths(const ReferenceConfig& config, std::int64_t sample_rate);

// The first `most_samples` of a clip at the sample rate [S]; then its peak is scaled to 0.75 where
// its loudness is to be even, and what is `trim_db` quieter is cut off both ends. Throws DataError
// that names the file: missing, not audio, shorter than what a voice can be heard in, or silent.
at::Tensor read_reference(const std::filesystem::path& path, std::int64_t sample_rate,
                          std::int64_t most_samples, bool even_loudness = false,
                          std::optional<double> trim_db = {});

// [S] without the ends in which every window of 2048 samples is more than `db` below the loudest.
at::Tensor trim_silence(const at::Tensor& clip, double db);

// A voice on disk: a safetensors file with gpt_cond_latent [1, latents, D] and speaker_embedding
// [1, speaker_dim, 1], as the public list of speakers has them. All throw DataError.

void write_voice(const std::filesystem::path& path, const Voice& voice);

// Checks the shapes against the model that is to speak with it.
Voice read_voice(const std::filesystem::path& path, const ModelConfig& config);

// Those of a model folder's voices.safetensors; none where it has no such file.
std::vector<std::string> speaker_names(const std::filesystem::path& model_folder);

// The voice called `name` of a model folder's voices.safetensors; the message lists the names when
// there is none.
Voice read_speaker(const std::filesystem::path& model_folder, const std::string& name,
                   const ModelConfig& config);

}  // namespace myxtts
