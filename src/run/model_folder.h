// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "config/model.h"
#include "model/checkpoint_specs.h"
#include "model/tensor_spec.h"
#include "weights/safetensors.h"

namespace myxtts {

struct ExtendedVocabulary;
class StagedFolder;

// The names of the files in a folder of ours and in one of the public layout.

namespace files {

inline constexpr const char* kConfig = "config.json";
inline constexpr const char* kVocabulary = "vocab.json";
inline constexpr const char* kVoices = "voices.safetensors";
inline constexpr const char* kPublicModel = "model.pth";
inline constexpr const char* kPublicDvae = "dvae.pth";
inline constexpr const char* kPublicMelStats = "mel_stats.pth";
inline constexpr const char* kPublicVoices = "speakers_xtts.pth";

}  // namespace files

// What --force may replace: everything that import or export writes.
std::set<std::string> files_we_write();

// Where `myxtts pull` keeps models, each in a folder of its name: XDG_DATA_HOME/myxtts/models, else
// ~/.local/share/myxtts/models. Empty where neither XDG_DATA_HOME nor HOME is a path.
std::filesystem::path models_folder();

// A config.json as it is. Throws DataError.
std::string read_config_text(const std::filesystem::path& folder);

// Throws DataError with every tensor at fault.
void require_tensors(const SafetensorsReader& file, const TensorSpecs& specs);
void require_tensors(const FoundTensors& found, const TensorSpecs& specs, const std::string& file);

// Writes a model folder's files into `target`, grown with its vocabulary: vocab.json, the rows of
// model.safetensors and the text ids of config.json are new, the rest is copied. Throws DataError
// when the model's weights do not fit the vocabulary that was extended or its config.json.
void write_grown_folder(const std::filesystem::path& model, const ExtendedVocabulary& extended,
                        const StagedFolder& target);

}  // namespace myxtts

// The files of a checkpoint, besides those of a model folder.

namespace myxtts::files {

inline constexpr const char* kOptimiser = "optimiser.safetensors";
inline constexpr const char* kState = "state.json";
inline constexpr const char* kSpeakers = "trained_speakers.json";  // of the stage speaker

}  // namespace myxtts::files
