// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/data.h"
#include "config/devices.h"

namespace myxtts {

// What commands that look at corpora without a run have in common.

// Each as --train-data takes it: a path, maybe with ",language=CODE" and the like. Throws
// ConfigError.
std::vector<CorpusSource> parse_corpora(const std::vector<std::string>& corpora,
                                        const std::string& flag);

// Where the index and skipped.jsonl of a corpus go: data.cache_dir, otherwise a folder of the
// user's own that is kept. Made where there is none; throws DataError when that fails.
std::filesystem::path index_folder(const DataConfig& config);

}  // namespace myxtts
