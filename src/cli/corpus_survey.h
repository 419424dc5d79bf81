// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "config/run_config.h"
#include "diagnose/corpus/corpus_report.h"
#include "run/open_model.h"
#include "text/vocabulary.h"

namespace myxtts {

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
