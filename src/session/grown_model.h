// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "run/staged_folder.h"
#include "text/vocabulary_learning.h"

namespace myxtts {

// Writes a model folder's files into `target`, grown with its vocabulary: vocab.json, the rows of
// model.safetensors and the text ids of config.json are new, the rest is copied. Throws DataError
// when the model's weights do not fit the vocabulary that was extended or its config.json.
void write_grown_folder(const std::filesystem::path& model, const ExtendedVocabulary& extended,
                        const StagedFolder& target);

}  // namespace myxtts
