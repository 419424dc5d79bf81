// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "text/vocabulary_learning.h"

namespace myxtts {

// The texts of every clip that data.train_data names, clean, by language; nothing of their sound is
// looked at. Warns of languages that are cleaned plainly. Throws DataError where a corpus cannot be
// read or holds no text at all.
SentencesByLanguage training_texts(const DataConfig& config);

// What to know of a language without a cleaner of its own, as a sentence.
std::string note_of_plain_cleaning(Language language);

// The lines of a file that hold something, clean. Throws DataError for a file that cannot be read
// or holds no text.
std::vector<std::string> read_learning_text(const std::filesystem::path& path, Language language);

}  // namespace myxtts
