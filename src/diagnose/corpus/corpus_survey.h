// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "data/corpus.h"
#include "data/held_back.h"
#include "diagnose/corpus/corpus_report.h"
#include "run/open_model.h"
#include "text/vocabulary.h"

namespace myxtts {

// What commands that look at corpora without a run have in common.

// Each as --train-data takes it: a path, maybe with ",language=CODE" and the like. Throws
// ConfigError.
std::vector<CorpusSource> parse_corpora(const std::vector<std::string>& corpora,
                                        const std::string& flag);

// Where the indexes of corpora go: data.cache_dir, otherwise a folder of the user's own that is
// kept. Opening a corpus makes it where there is none.
std::filesystem::path index_folder(const DataConfig& config);

// Where the page about the corpora of data.train_data goes when nobody says: beside their index,
// under a name of their own.
std::filesystem::path report_path(const DataConfig& config);

// The corpora of the settings, indexed there; skipped.jsonl is in a folder of their own beside the
// index. Throws as Corpus::open() does.
Corpus open_without_run(DataConfig config, const Vocabulary& vocabulary,
                        HoldBack rule = HoldBack::Clips);

// What the index of a corpus tells of its clips, without their sound: those whose text is likely
// another clip's. Reads no file.
std::vector<SuspiciousClip> find_suspicious(const Corpus& corpus);

// Opens the corpora of data.train_data, decodes every clip once, and reports what was found. The
// sizes of `model` count, or those of the public one; `fill_cache` needs it, and data.cache_dir.
// Shows progress. Throws what opening a corpus or a cache throws.
CorpusReport survey_corpus(const RunConfig& config, const Vocabulary& vocabulary,
                           const std::optional<OpenModel>& model, bool fill_cache);

}  // namespace myxtts
