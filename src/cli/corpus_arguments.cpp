// SPDX-License-Identifier: Apache-2.0
#include "cli/corpus_arguments.h"

#include <cstdlib>
#include <system_error>

#include "base/error.h"
#include "config/corpus_source.h"
#include "config/value_text.h"

namespace myxtts {

std::vector<CorpusSource> parse_corpora(const std::vector<std::string>& corpora,
                                        const std::string& flag) {
  std::vector<CorpusSource> sources;
  for (const auto& corpus : corpora) {
    auto source = parse_corpus_source(corpus);
    if (!source) {
      throw ConfigError(fmt::format(
          "{} takes the path of a folder or of a manifest, alone or with ',language=CODE' or "
          "',format=LAYOUT' behind it, but was given {}.",
          flag, quote(corpus)));
    }
    sources.push_back(std::move(*source));
  }
  return sources;
}

namespace {

std::filesystem::path user_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::filesystem::path(cache) / "myxtts";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::filesystem::path(home) / ".cache" / "myxtts";
  }
  return std::filesystem::temp_directory_path() / "myxtts-cache";
}

}  // namespace

std::filesystem::path index_folder(const DataConfig& config) {
  const auto folder = config.cache_dir.value_or(user_cache_folder());
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!std::filesystem::is_directory(folder)) {
    throw DataError(fmt::format("The folder {} cannot be made: {}. Give another with --cache-dir.",
                                folder.string(), error.message()));
  }
  return folder;
}

}  // namespace myxtts
