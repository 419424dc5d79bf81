// SPDX-License-Identifier: Apache-2.0
#include "session/training_texts.h"

#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "data/manifest.h"
#include "text/cleaner.h"

namespace myxtts {
namespace {

// Nothing for a language that a manifest names and we do not know; its clips are left out later,
// each with that reason.
std::optional<Language> known_language(const std::string& name) {
  try {
    return parse_language(name);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace

SentencesByLanguage training_texts(const DataConfig& config) {
  if (config.train_data.empty()) {
    throw ConfigError("There is no corpus to train on; name one with --train-data DIR.");
  }
  SentencesByLanguage sentences;
  Progress progress({.title = "Reading texts"});
  for (CorpusSource source : config.train_data) {
    if (!source.layout) source.layout = config.format;
    const Language own = parse_language(source.language.value_or(config.language));
    for (const ManifestEntry& entry : read_manifest(source).entries) {
      const auto language = entry.language.empty() ? own : known_language(entry.language);
      if (language && !entry.text.empty()) {
        sentences[*language].push_back(clean_text(entry.text, *language));
      }
      progress.advance();
    }
  }
  if (sentences.empty()) {
    throw DataError("The corpora of --train-data hold no text to learn a vocabulary from.");
  }
  return sentences;
}

}  // namespace myxtts
