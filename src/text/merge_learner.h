// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "text/vocabulary.h"

namespace myxtts {

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
