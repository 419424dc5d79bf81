// SPDX-License-Identifier: Apache-2.0
#include "text/vocabulary_learning.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <unicode/normalizer2.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

using Json = nlohmann::ordered_json;

// Letters every Persian text may hold; Arabic lacks them, or writes them otherwise.
constexpr std::u32string_view kPersianLetters = U"پچژگکی\u200C";

// The old letter that sounds most like a new one.
const std::map<char32_t, char32_t>& nearest_letters() {
  static const std::map<char32_t, char32_t> letters{{U'پ', U'ب'}, {U'ژ', U'ج'}, {U'گ', U'ك'},
                                                    {U'چ', U'ج'}, {U'ک', U'ك'}, {U'ی', U'ي'}};
  return letters;
}

// The letter without its accents; itself when it has none.
char32_t base_letter(char32_t letter) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfd = icu::Normalizer2::getNFDInstance(status);
  MYXTTS_CHECK(U_SUCCESS(status), "ICU has no NFD");
  const icu::UnicodeString parts =
      nfd->normalize(icu::UnicodeString(static_cast<UChar32>(letter)), status);
  return static_cast<char32_t>(parts.char32At(0));
}

// The blanks a level of the file is indented by; -1 for a file in one line.
int indentation(std::string_view json) {
  const auto brace = json.find('{');
  const auto line = brace == json.npos ? json.npos : json.find('\n', brace);
  if (line == json.npos || line > brace + 2) return -1;
  const auto text = json.find_first_not_of(' ', line + 1);
  constexpr std::size_t kMost = 8;
  return text == json.npos ? -1 : static_cast<int>(std::min(kMost, text - line - 1));
}

// A vocabulary file that grows.
class Extension {
 public:
  Extension(std::string_view json, std::string_view origin, const std::string& language)
      : language_(language), origin_(origin), old_(Vocabulary::parse(json, origin)) {
    file_ = Json::parse(json);
    result_.old_rows = old_.rows();
    indent_ = indentation(json);
    if (old_.find(tag())) {
      throw ConfigError(
          fmt::format("{} has the token {} already, and extending it again would learn on top of "
                      "that. Start from the vocabulary without it, or choose another --language.",
                      origin, tag()));
    }
  }

  ExtendedVocabulary run(const std::vector<std::string>& sentences, std::size_t pieces) {
    add_tag();
    add_letters(sentences);
    if (pieces > 0) learn_pieces(sentences, pieces);
    result_.json = file_.dump(indent_) + '\n';
    return std::move(result_);
  }

 private:
  std::string tag() const { return '[' + language_ + ']'; }

  TokenId append(const std::string& token, std::vector<TokenId> from) {
    const auto id = static_cast<TokenId>(result_.new_rows());
    file_["model"]["vocab"][token] = id;
    result_.rows.push_back({id, token, std::move(from)});
    return id;
  }

  void add_tag() {
    std::vector<TokenId> from;
    const auto arabic = old_.find("[ar]");
    if (language_ == "fa" && arabic) from.push_back(*arabic);
    const TokenId id = append(tag(), std::move(from));
    if (!file_["added_tokens"].is_array()) file_["added_tokens"] = Json::array();
    file_["added_tokens"].push_back({{"id", id},
                                     {"special", true},
                                     {"content", tag()},
                                     {"single_word", false},
                                     {"lstrip", false},
                                     {"rstrip", false},
                                     {"normalized", false}});
  }

  void add_letters(const std::vector<std::string>& sentences) {
    std::set<char32_t> letters = spoken_letters(sentences);
    if (language_ == "fa") {
      letters.insert(kPersianLetters.begin(), kPersianLetters.end());
      markers_.insert(kPersianLetters.begin(), kPersianLetters.end());
    }
    for (const char32_t letter : letters) {
      if (old_.find_letter(letter)) continue;
      append(utf8_of(letter), origin_of(letter));
      markers_.insert(letter);
    }
  }

  std::vector<TokenId> origin_of(char32_t letter) const {
    const auto& nearest = nearest_letters();
    const auto found = nearest.find(letter);
    const char32_t older = found != nearest.end() ? found->second : base_letter(letter);
    const auto id = older == letter ? std::nullopt : old_.find_letter(older);
    return id ? std::vector{*id} : std::vector<TokenId>{};
  }

  bool holds_marker(const std::string& token) const {
    for (std::size_t at = 0; at < token.size();) {
      const char32_t letter = code_point_at(token, at);
      at += static_cast<std::size_t>(U8_LENGTH(letter));
      if (markers_.contains(letter)) return true;
    }
    return false;
  }

  // The words of the sentences as the letters and the old merges leave them.
  static MergeLearner learner(const Vocabulary& vocabulary,
                              const std::vector<std::string>& sentences) {
    std::map<std::string, std::int64_t> counts;
    for (const std::string& sentence : sentences) {
      for (const std::string_view word : split_words(sentence)) ++counts[std::string(word)];
    }
    MergeLearner result;
    const Tokenizer tokenizer(vocabulary);
    for (const auto& [word, count] : counts) result.add_word(tokenizer.encode(word), count);
    return result;
  }

  void learn_pieces(const std::vector<std::string>& sentences, std::size_t pieces) {
    const Vocabulary letters = Vocabulary::parse(file_.dump(), origin_);
    MergeLearner words = learner(letters, sentences);
    std::map<TokenId, std::string> tokens;  // those that may merge
    const auto token_of = [&](TokenId id) {
      const auto learnt = tokens.find(id);
      return learnt != tokens.end() ? learnt->second : std::string(letters.token(id));
    };
    std::set<std::string> known;
    const auto allowed = [&](MergeLearner::Pair pair) {
      if (pair.first == letters.unknown() || pair.second == letters.unknown()) return false;
      const std::string joined = token_of(pair.first) + token_of(pair.second);
      return holds_marker(joined) && !letters.find(joined) && !known.contains(joined);
    };
    for (std::size_t count = 0; count < pieces; ++count) {
      const auto pair = words.best_pair(allowed);
      if (!pair) break;
      const std::string left = token_of(pair->first);
      const std::string right = token_of(pair->second);
      const TokenId id = append(left + right, {pair->first, pair->second});
      tokens[id] = left + right;
      known.insert(left + right);
      append_merge(left, right);
      words.merge(*pair, id);
    }
  }

  // In the form the file has its merges in.
  void append_merge(const std::string& left, const std::string& right) {
    Json& merges = file_["model"]["merges"];
    if (!merges.empty() && merges.front().is_array()) {
      merges.push_back(Json::array({left, right}));
    } else {
      merges.push_back(left + ' ' + right);
    }
  }

  const std::string& language_;
  std::string_view origin_;
  Vocabulary old_;
  Json file_;
  int indent_ = -1;
  std::set<char32_t> markers_;  // a merge must hold one of these
  ExtendedVocabulary result_;
};

}  // namespace

ExtendedVocabulary extend_vocabulary(std::string_view json, std::string_view origin,
                                     const std::string& language,
                                     const std::vector<std::string>& sentences,
                                     std::size_t pieces) {
  return Extension(json, origin, language).run(sentences, pieces);
}

std::string growth_json(const ExtendedVocabulary& extended, std::string_view language) {
  Json rows = Json::array();
  for (const NewRow& row : extended.rows) {
    rows.push_back({{"id", row.id}, {"token", row.token}, {"from", row.from}});
  }
  const Json file = {{"language", language},
                     {"old_rows", extended.old_rows},
                     {"new_rows", extended.new_rows()},
                     {"rows", std::move(rows)}};
  return file.dump(1) + '\n';
}

}  // namespace myxtts
