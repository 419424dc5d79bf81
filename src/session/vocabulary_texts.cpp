// SPDX-License-Identifier: Apache-2.0
#include "session/vocabulary_texts.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/layouts/manifest.h"
#include "text/cleaner.h"

namespace myxtts {
namespace {

// Nothing for what a manifest calls a language and is no code of one; its clips are left out later,
// each with that reason.
std::optional<Language> language_named(const std::string& name) {
  try {
    return parse_language(name);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace

std::string note_of_plain_cleaning(Language language) {
  return fmt::format(
      "{} has no cleaner of its own: its texts become lower case with plain marks and nothing "
      "more, so write numbers and abbreviations out in words.",
      language_code(language));
}

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
      const auto language = entry.language.empty() ? own : language_named(entry.language);
      if (language && !entry.text.empty()) {
        sentences[*language].push_back(clean_text(entry.text, *language));
      }
      progress.advance();
    }
  }
  if (sentences.empty()) {
    throw DataError("The corpora of --train-data hold no text to learn a vocabulary from.");
  }
  for (const auto& [language, texts] : sentences) {
    if (language.is_other()) log_warning("data", "{}", note_of_plain_cleaning(language));
  }
  return sentences;
}

namespace {

constexpr std::size_t kLargestText = std::size_t{4} << 30;  // bytes

}  // namespace

std::vector<std::string> read_learning_text(const std::filesystem::path& path, Language language) {
  const std::string text = read_text_file(path, "text of --text", kLargestText);
  std::vector<std::string> sentences;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string clean = clean_text(text.substr(at, end - at), language);
    if (!clean.empty()) sentences.push_back(std::move(clean));
    at = end + 1;
  }
  if (sentences.empty()) {
    throw DataError(fmt::format(
        "{} holds no text to learn from. Give a file with sentences of the language, one a line.",
        path.string()));
  }
  return sentences;
}

}  // namespace myxtts
