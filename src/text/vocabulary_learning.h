// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
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

// What both are made with.

// Learns which neighbouring tokens to merge: byte-pair encoding, one merge at a time, the pair that
// stands in the words most often first.
class MergeLearner {
 public:
  using Pair = std::pair<TokenId, TokenId>;

  // A word as tokens, and how often it occurs.
  void add_word(std::vector<TokenId> tokens, std::int64_t count);

  // The most frequent pair that `allowed` accepts, the smallest of several; nothing when none
  // occurs `least` times.
  std::optional<Pair> best_pair(const std::function<bool(Pair)>& allowed,
                                std::int64_t least = 2) const;

  // Replaces the pair by `result` in every word.
  void merge(Pair pair, TokenId result);

 private:
  struct Word {
    std::vector<TokenId> tokens;
    std::int64_t count = 0;
  };

  void count_pairs(std::size_t word, std::int64_t sign);

  std::vector<Word> words_;
  std::map<Pair, std::int64_t> counts_;
  std::map<Pair, std::set<std::size_t>> places_;  // words that may hold the pair
};

// Every letter of the sentences that can have a token of its own: no blanks, no controls, nothing
// that Unicode does not know. The sentences are valid UTF-8.
std::set<char32_t> spoken_letters(const std::vector<std::string>& sentences);

std::string utf8_of(char32_t letter);

}  // namespace myxtts
