// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "text/vocabulary_learning.h"

namespace myxtts {

// The texts of every clip that data.train_data names, clean, by language; nothing of their sound is
// looked at. Languages that have no rules of cleaning are left out, as they are when the corpus is
// opened. Throws DataError where a corpus cannot be read or holds no text at all.
SentencesByLanguage training_texts(const DataConfig& config);

// The lines of a file that hold something, clean: as the rules of `language` have it, or, where we
// have none, without quotes, in lower case and with single spaces. Throws DataError for a file that
// cannot be read or holds no text.
std::vector<std::string> read_learning_text(const std::filesystem::path& path,
                                            const std::string& language);

}  // namespace myxtts
