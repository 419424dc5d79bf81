// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "config/model.h"
#include "config/model_json.h"
#include "run/open_model.h"

// The three places that training can start at: nothing, a model, and a checkpoint
// (run/run_directory.h).

namespace myxtts {

// The sizes of a new model: those called `size`, with the ids of its vocabulary. Throws
// ConfigError.
ModelConfig new_model_config(std::string_view size, const TextIds& vocabulary);

// A model of random weights, whole: what is trained later (DVAE, decoder) is there too. A tensor's
// values follow from `seed` and its name alone, so two vocabularies share all that they can.
OpenModel new_model(const ModelConfig& config, std::uint64_t seed);

// Throws DataError when the model of a folder, with this GPT, has too few rows for the vocabulary
// beside it or other ids for start and stop; ConfigError when `asked_size`, the --model-size
// somebody wrote, is not the model's.
void require_fitting(const std::filesystem::path& folder, const GptConfig& config,
                     const TextIds& vocabulary, const std::optional<std::string>& asked_size);

// A model to go on from, for a vocabulary that lies beside it and fits.
OpenModel model_to_train(const std::filesystem::path& folder, const TextIds& vocabulary,
                         const std::optional<std::string>& asked_size);

// The name of the preset whose GPT has these sizes, whatever its vocabulary; nothing: none.
std::optional<std::string> size_name(const GptConfig& config);

}  // namespace myxtts
