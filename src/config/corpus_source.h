// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/data.h"

namespace myxtts {

// The layouts by the names that --format takes, as in "common-voice".
const std::vector<std::pair<std::string, CorpusLayout>>& corpus_layouts();
std::string_view name_of(CorpusLayout layout);

// Reads "DIR" or "DIR,language=fa,weight=2,format=plain"; nothing when it is not allowed.
//
// A comma starts an option only where a word of small letters and an equals sign follow, so that
// most paths with commas need nothing; \, is a comma of the path in any case, and \\ a backslash.
std::optional<CorpusSource> parse_corpus_source(std::string_view text);
std::string format_corpus_source(const CorpusSource& source);

// What a map of a YAML file may hold, and the text that means the same. Nothing without a path.
const std::vector<std::string>& corpus_source_keys();
std::optional<std::string> corpus_source_text(
    const std::vector<std::pair<std::string, std::string>>& map);

}  // namespace myxtts
