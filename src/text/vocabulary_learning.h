// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/language.h"
#include "text/vocabulary.h"

namespace myxtts {

// A row that a network must get for a new token: the mean of the rows `from`, each of which is
// older than this one; of all old rows when there are none.
struct NewRow {
  TokenId id = 0;
  std::string token;
  std::vector<TokenId> from;
};

struct ExtendedVocabulary {
  std::string json;  // the file, in the form of the old one
  std::int64_t old_rows = 0;
  std::vector<NewRow> rows;  // by id, without a gap

  std::int64_t new_rows() const { return old_rows + static_cast<std::int64_t>(rows.size()); }
};

// Adds a language to a vocabulary: its tag, the letters it lacks, and tokens learnt from the
// sentences. Ids are appended, never changed, and only merges that hold a letter of the new
// language are added, so every text without such letters keeps its ids.
//
// `language` is "fa" or any other code: the tag becomes [fa]. Sentences are clean text; of tokens
// of several letters at most `pieces` are learnt. Throws DataError for a broken file (`origin`
// names it) and ConfigError when it has the language.
ExtendedVocabulary extend_vocabulary(std::string_view json, std::string_view origin,
                                     const std::string& language,
                                     const std::vector<std::string>& sentences, std::size_t pieces);

// What is written beside the file, for whoever lets a network grow.
std::string growth_json(const ExtendedVocabulary& extended, std::string_view language);

// What a vocabulary is learnt from: clean sentences, by language.
using SentencesByLanguage = std::map<Language, std::vector<std::string>>;

// A vocab.json for a model that starts from nothing: [STOP], [UNK], [SPACE] and [START], the tag of
// each language, every letter of the sentences, and then at most `pieces` tokens of several
// letters, the most frequent pair first. A function of its arguments alone, whatever order the
// sentences have.
//
// A piece must stand in the sentences `least_seen` times. Each is a row of an embedding that learns
// only from the places where it stands, and takes those places from the letters it is made of; an
// hour of speech, about 50,000 letters, is better read letter by letter.
std::string learn_vocabulary(const SentencesByLanguage& sentences, std::size_t pieces = 500,
                             std::int64_t least_seen = 2000);

}  // namespace myxtts
