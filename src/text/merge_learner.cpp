// SPDX-License-Identifier: Apache-2.0
#include "text/merge_learner.h"

namespace myxtts {

void MergeLearner::add_word(std::vector<TokenId> tokens, std::int64_t count) {
  words_.push_back({std::move(tokens), count});
  count_pairs(words_.size() - 1, 1);
}

void MergeLearner::count_pairs(std::size_t word, std::int64_t sign) {
  const auto& [tokens, count] = words_[word];
  for (std::size_t at = 0; at + 1 < tokens.size(); ++at) {
    const Pair pair{tokens[at], tokens[at + 1]};
    counts_[pair] += sign * count;
    if (sign > 0) places_[pair].insert(word);
  }
}

std::optional<MergeLearner::Pair> MergeLearner::best_pair(const std::function<bool(Pair)>& allowed,
                                                          std::int64_t least) const {
  std::optional<Pair> best;
  std::int64_t most = least - 1;
  for (const auto& [pair, count] : counts_) {
    if (count > most && allowed(pair)) {
      best = pair;
      most = count;
    }
  }
  return best;
}

void MergeLearner::merge(Pair pair, TokenId result) {
  const auto words = places_.extract(pair);
  if (words.empty()) return;
  for (const std::size_t word : words.mapped()) {
    count_pairs(word, -1);
    std::vector<TokenId> merged;
    const auto& tokens = words_[word].tokens;
    for (std::size_t at = 0; at < tokens.size(); ++at) {
      const bool here =
          at + 1 < tokens.size() && tokens[at] == pair.first && tokens[at + 1] == pair.second;
      merged.push_back(here ? result : tokens[at]);
      if (here) ++at;
    }
    words_[word].tokens = std::move(merged);
    count_pairs(word, 1);
  }
  counts_.erase(pair);
}

}  // namespace myxtts
