// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "diagnose/corpus/corpus_report.h"
#include "run/open_model.h"
#include "text/vocabulary.h"

namespace myxtts {

// What commands that look at corpora without a run have in common.

// Each as --train-data takes it: a path, maybe with ",language=CODE" and the like. Throws
// ConfigError.
std::vector<CorpusSource> parse_corpora(const std::vector<std::string>& corpora,
                                        const std::string& flag);

// Where the index and skipped.jsonl of a corpus go: data.cache_dir, otherwise a folder of the
// user's own that is kept. Made where there is none; throws DataError when that fails.
std::filesystem::path index_folder(const DataConfig& config);

struct CorpusSurvey {
  const RunConfig& config;  // its data.train_data are looked at
  const Vocabulary& vocabulary;
  const std::optional<OpenModel>& model;  // its sizes count; nothing: those of the public model
  bool fill_cache = false;                // needs the model and data.cache_dir
};

// Opens the corpora, decodes every clip once, and tells what was found. Shows progress. Throws what
// opening a corpus or a cache throws.
CorpusReport survey_corpus(const CorpusSurvey& survey);

}  // namespace myxtts
