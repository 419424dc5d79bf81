// SPDX-License-Identifier: Apache-2.0
#include "text/vocabulary_learning.h"

#include <unicode/uchar.h>
#include <nlohmann/json.hpp>

#include "text/tokenizer.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

using Json = nlohmann::ordered_json;

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

namespace {

// A vocabulary that grows token by token.
class Learning {
 public:
  explicit Learning(const SentencesByLanguage& sentences) : sentences_(sentences) {
    for (const char* token : {"[STOP]", "[UNK]", "[SPACE]", "[START]"}) add_special(token);
    for (const auto& [language, texts] : sentences_) add_special(language_tag(language));
    std::set<char32_t> letters;
    for (const auto& [language, texts] : sentences_) letters.merge(spoken_letters(texts));
    for (const char32_t letter : letters) append(utf8_of(letter));
  }

  void learn(std::size_t pieces, std::int64_t least_seen) {
    MergeLearner words = letters_of_words();
    const auto allowed = [this](MergeLearner::Pair pair) {
      return !ids_.contains(tokens_[index(pair.first)] + tokens_[index(pair.second)]);
    };
    for (std::size_t count = 0; count < pieces; ++count) {
      const auto pair = words.best_pair(allowed, least_seen);
      if (!pair) break;
      const std::string left = tokens_[index(pair->first)];
      const std::string right = tokens_[index(pair->second)];
      merges_.push_back(left + ' ' + right);
      words.merge(*pair, append(left + right));
    }
  }

  std::string json() const {
    Json vocabulary = Json::object();
    for (std::size_t id = 0; id < tokens_.size(); ++id) vocabulary[tokens_[id]] = id;
    const Json file = {{"version", "1.0"},
                       {"truncation", nullptr},
                       {"padding", nullptr},
                       {"added_tokens", added_},
                       {"normalizer", nullptr},
                       {"pre_tokenizer", {{"type", "Whitespace"}}},
                       {"post_processor", nullptr},
                       {"decoder", nullptr},
                       {"model",
                        {{"type", "BPE"},
                         {"dropout", nullptr},
                         {"unk_token", "[UNK]"},
                         {"continuing_subword_prefix", nullptr},
                         {"end_of_word_suffix", nullptr},
                         {"fuse_unk", false},
                         {"vocab", vocabulary},
                         {"merges", merges_}}}};
    return file.dump(1) + '\n';
  }

 private:
  static std::size_t index(TokenId id) { return static_cast<std::size_t>(id); }

  TokenId append(const std::string& token) {
    const auto id = static_cast<TokenId>(tokens_.size());
    tokens_.push_back(token);
    ids_.emplace(token, id);
    return id;
  }

  void add_special(const std::string& token) {
    added_.push_back({{"id", append(token)},
                      {"special", true},
                      {"content", token},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false}});
  }

  MergeLearner letters_of_words() const {
    std::map<std::string, std::int64_t> counts;  // sorted, so that their order is no one's choice
    for (const auto& [language, texts] : sentences_) {
      for (const std::string& sentence : texts) {
        for (const std::string_view word : split_words(sentence)) ++counts[std::string(word)];
      }
    }
    MergeLearner words;
    for (const auto& [word, count] : counts) {
      std::vector<TokenId> letters;
      for (std::size_t at = 0; at < word.size();) {
        const char32_t letter = code_point_at(word, at);
        at += static_cast<std::size_t>(U8_LENGTH(letter));
        const auto id = ids_.find(utf8_of(letter));
        if (id == ids_.end()) break;  // never part of a token
        letters.push_back(id->second);
      }
      words.add_word(std::move(letters), count);
    }
    return words;
  }

  const SentencesByLanguage& sentences_;
  std::vector<std::string> tokens_;  // by id
  std::map<std::string, TokenId> ids_;
  Json added_ = Json::array();
  std::vector<std::string> merges_;
};

}  // namespace

std::string learn_vocabulary(const SentencesByLanguage& sentences, std::size_t pieces,
                             std::int64_t least_seen) {
  Learning learning(sentences);
  learning.learn(pieces, least_seen);
  return learning.json();
}

}  // namespace myxtts
