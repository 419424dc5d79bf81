// SPDX-License-Identifier: Apache-2.0
#include "text/merge_learner.h"

#include <cstdint>

#include <unicode/uchar.h>

#include "text/unicode.h"

namespace myxtts {
namespace {

bool can_be_spoken(char32_t letter) {
  constexpr std::uint32_t kNever =
      U_GC_CC_MASK | U_GC_CN_MASK | U_GC_CO_MASK | U_GC_CS_MASK | U_GC_Z_MASK;
  return letter != 0xFFFD && (U_GET_GC_MASK(static_cast<UChar32>(letter)) & kNever) == 0;
}

}  // namespace

std::set<char32_t> spoken_letters(const std::vector<std::string>& sentences) {
  std::set<char32_t> letters;
  for (const std::string& sentence : sentences) {
    for (std::size_t at = 0; at < sentence.size();) {
      const char32_t letter = code_point_at(sentence, at);
      at += static_cast<std::size_t>(U8_LENGTH(letter));
      if (can_be_spoken(letter)) letters.insert(letter);
    }
  }
  return letters;
}

std::string utf8_of(char32_t letter) {
  std::string text;
  append_code_point(text, letter);
  return text;
}

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
