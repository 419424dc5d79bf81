// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/error.h"
#include "base/message_text.h"
#include "config/resumed_run.h"
#include "text/cleaner.h"
#include "text/unicode.h"
#include "text/vocabulary.h"

namespace myxtts {
namespace {

// The ids of the words that one thread used last: text repeats its words, and to merge one anew
// takes several times as long as to find it here. Of two words with the same place the later stays.
// Words that are long or have many tokens are rare and not kept.
class WordCache {
 public:
  // That of the calling thread. It holds words of one vocabulary and starts anew with another.
  static WordCache& of_this_thread(const Vocabulary& vocabulary) {
    thread_local WordCache cache;
    if (cache.vocabulary_ != vocabulary.identity()) {
      cache.vocabulary_ = vocabulary.identity();
      cache.entries_.assign(kEntries, {});
    }
    return cache;
  }

  // Whether it knows the word; then its ids are appended. `word` is not empty.
  bool append(std::string_view word, std::vector<TokenId>& ids) {
    if (word.size() > kLongestWord) return false;
    const Entry& entry = place_of(word);
    if (std::string_view(entry.word.data(), entry.length) != word) return false;
    ids.insert(ids.end(), entry.ids.begin(), entry.ids.begin() + entry.count);
    return true;
  }

  void keep(std::string_view word, std::span<const TokenId> ids) {
    if (word.size() > kLongestWord || ids.size() > kMostIds) return;
    Entry& entry = place_of(word);
    entry.length = static_cast<std::uint8_t>(word.size());
    entry.count = static_cast<std::uint8_t>(ids.size());
    std::ranges::copy(word, entry.word.begin());
    std::ranges::copy(ids, entry.ids.begin());
  }

 private:
  static constexpr std::size_t kEntries = 4096;
  static constexpr std::size_t kLongestWord = 62;
  static constexpr std::size_t kMostIds = 24;

  struct Entry {
    std::array<TokenId, kMostIds> ids;
    std::array<char, kLongestWord> word;
    std::uint8_t length = 0;  // 0: nothing is kept here
    std::uint8_t count = 0;
  };

  Entry& place_of(std::string_view word) {
    return entries_[std::hash<std::string_view>()(word) % kEntries];
  }

  std::uint64_t vocabulary_ = 0;  // no vocabulary has this identity
  std::vector<Entry> entries_;
};

enum class LetterKind : unsigned char { Blank, Word, Mark };

LetterKind classify(UChar32 letter) {
  constexpr std::uint32_t kWordTypes = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  if (u_hasBinaryProperty(letter, UCHAR_WHITE_SPACE)) return LetterKind::Blank;
  if ((U_GET_GC_MASK(letter) & kWordTypes) != 0 || letter == 0x200C || letter == 0x200D ||
      u_hasBinaryProperty(letter, UCHAR_ALPHABETIC)) {
    return LetterKind::Word;
  }
  return LetterKind::Mark;
}

LetterKind kind_of(UChar32 letter) {
  // Those of the first plane, where nearly all text lies; ICU takes ten times as long to say.
  static const auto common = [] {
    std::vector<LetterKind> kinds(0x10000);
    for (std::size_t c = 0; c < kinds.size(); ++c) kinds[c] = classify(static_cast<UChar32>(c));
    return kinds;
  }();
  const auto place = static_cast<std::size_t>(letter);
  return place < common.size() ? common[place] : classify(letter);
}

// Calls `visit` with each run of letters and each run of marks.
template <typename Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  LetterKind word_kind = LetterKind::Blank;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t letter = code_point_at(text, at);
    const LetterKind kind = kind_of(static_cast<UChar32>(letter));
    if (kind != word_kind) {
      if (word_kind != LetterKind::Blank) visit(text.substr(begin, at - begin));
      begin = at;
      word_kind = kind;
    }
    at += static_cast<std::size_t>(U8_LENGTH(letter));
  }
  if (word_kind != LetterKind::Blank) visit(text.substr(begin));
}

}  // namespace

// The letters of one word, merged until no rule fits. One serves many words, so that its memory is
// asked for once.
class Tokenizer::Word {
 public:
  explicit Word(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), cache_(WordCache::of_this_thread(vocabulary)) {}

  // Appends the ids of `text`, which is one word.
  void encode(std::string_view text, std::vector<TokenId>& ids) {
    if (cache_.append(text, ids)) return;
    for (std::size_t at = 0; at < text.size();) {
      const char32_t letter = code_point_at(text, at);
      add(letter);
      at += static_cast<std::size_t>(U8_LENGTH(letter));
    }
    const std::size_t before = ids.size();
    flush(ids);
    cache_.keep(text, std::span(ids).subspan(before));
  }

 private:
  static constexpr std::int32_t kNone = -1;
  // Up to here looking through all pairs for the best one is faster than keeping them in order.
  static constexpr std::size_t kShort = 48;

  struct Letter {
    TokenId id = 0;
    const Vocabulary::Merge* merge = nullptr;  // with the next one
  };
  struct Symbol {
    TokenId id = 0;
    std::int32_t previous = kNone;
    std::int32_t next = kNone;
    bool gone = false;  // merged into the symbol before it
  };
  struct Candidate {
    std::int32_t rank = 0;
    std::int32_t place = 0;  // of the left symbol
    TokenId result = 0;

    // For a heap whose top is the lowest rank, then the leftmost place.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };

  void add(char32_t letter) {
    letters_.push_back({vocabulary_.find_letter(letter).value_or(vocabulary_.unknown()), nullptr});
  }

  // Appends the ids to `ids` and is empty again.
  void flush(std::vector<TokenId>& ids) {
    if (letters_.size() <= kShort) {
      merge_short();
      for (const Letter& letter : letters_) ids.push_back(letter.id);
    } else {
      merge_long();
      for (std::int32_t place = 0; place != kNone; place = at(place).next)
        ids.push_back(at(place).id);
    }
    letters_.clear();
  }

  Symbol& at(std::int32_t place) { return symbols_[static_cast<std::size_t>(place)]; }

  const Vocabulary::Merge* merge_at(std::int32_t place) {
    const Symbol& left = at(place);
    return left.next == kNone ? nullptr : vocabulary_.find_merge(left.id, at(left.next).id);
  }

  void consider(std::int32_t place) {
    if (place == kNone) return;
    if (const auto* merge = merge_at(place)) {
      candidates_.push_back({merge->rank, place, merge->result});
      std::push_heap(candidates_.begin(), candidates_.end());
    }
  }

  const Vocabulary::Merge* merge_with_next(std::size_t place) const {
    if (place + 1 >= letters_.size()) return nullptr;
    return vocabulary_.find_merge(letters_[place].id, letters_[place + 1].id);
  }

  // Always the pair of lowest rank, of equal ones the leftmost, as merge_long() does it.
  void merge_short() {
    for (std::size_t place = 0; place < letters_.size(); ++place)
      letters_[place].merge = merge_with_next(place);
    while (true) {
      std::size_t best = letters_.size();
      std::int32_t rank = std::numeric_limits<std::int32_t>::max();
      for (std::size_t place = 0; place < letters_.size(); ++place) {
        const auto* merge = letters_[place].merge;
        if (merge == nullptr || merge->rank >= rank) continue;
        rank = merge->rank;
        best = place;
      }
      if (best == letters_.size()) return;
      letters_[best].id = letters_[best].merge->result;
      letters_.erase(letters_.begin() + static_cast<std::ptrdiff_t>(best) + 1);
      letters_[best].merge = merge_with_next(best);
      if (best > 0) letters_[best - 1].merge = merge_with_next(best - 1);
    }
  }

  void merge_long() {
    symbols_.clear();
    for (const Letter& letter : letters_) {
      const auto place = static_cast<std::int32_t>(symbols_.size());
      symbols_.push_back({letter.id, place - 1, place + 1});
    }
    symbols_.back().next = kNone;
    for (std::size_t place = 0; place + 1 < symbols_.size(); ++place) {
      consider(static_cast<std::int32_t>(place));
    }
    while (!candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end());
      const Candidate best = candidates_.back();
      candidates_.pop_back();
      if (at(best.place).gone) continue;
      // A candidate is stale when its pair is no longer there. The library asks only whether what
      // is there now gives the same token, so a pair may merge with the rank of an older one.
      const auto* merge = merge_at(best.place);
      if (merge == nullptr || merge->result != best.result) continue;
      join(best.place, best.result);
      consider(at(best.place).previous);
      consider(best.place);
    }
  }

  void join(std::int32_t place, TokenId result) {
    Symbol& left = at(place);
    Symbol& right = at(left.next);
    right.gone = true;
    left.id = result;
    left.next = right.next;
    if (left.next != kNone) at(left.next).previous = place;
  }

  const Vocabulary& vocabulary_;
  WordCache& cache_;
  std::vector<Letter> letters_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> candidates_;
};

Tokenizer::Tokenizer(const Vocabulary& vocabulary)
    : vocabulary_(vocabulary), starts_added_token_(256) {
  for (const auto& token : vocabulary.added_tokens()) {
    starts_added_token_[static_cast<unsigned char>(token.content.front())] = true;
  }
}

// What lies between added tokens, and those.
template <typename OnPlain, typename OnAdded>
void Tokenizer::cut_added_tokens(std::string_view text, const OnPlain& on_plain,
                                 const OnAdded& on_added) const {
  std::size_t plain_from = 0;
  std::size_t position = 0;
  while (position < text.size()) {
    const Vocabulary::AddedToken* found = nullptr;
    if (starts_added_token_[static_cast<unsigned char>(text[position])]) {
      for (const auto& token : vocabulary_.added_tokens()) {  // longest first
        if (text.substr(position).starts_with(token.content)) {
          found = &token;
          break;
        }
      }
    }
    if (found == nullptr) {
      ++position;
      continue;
    }
    on_plain(text.substr(plain_from, position - plain_from));
    on_added(found->id);
    position += found->content.size();
    plain_from = position;
  }
  on_plain(text.substr(plain_from));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 2);
  Word word(vocabulary_);
  cut_added_tokens(
      text, [&](std::string_view plain) { encode_plain(plain, word, ids); },
      [&](TokenId id) { ids.push_back(id); });
  return ids;
}

std::vector<char32_t> Tokenizer::unknown_signs(std::string_view text) const {
  std::vector<char32_t> signs;
  const auto look_at = [&](std::string_view plain) {
    for (std::size_t at = 0; at < plain.size();) {
      const char32_t sign = code_point_at(plain, at);
      at += static_cast<std::size_t>(U8_LENGTH(sign));
      const bool is_known = kind_of(static_cast<UChar32>(sign)) == LetterKind::Blank ||
                            vocabulary_.find_letter(sign).has_value();
      if (!is_known && std::ranges::find(signs, sign) == signs.end()) signs.push_back(sign);
    }
  };
  cut_added_tokens(text, look_at, [](TokenId) {});
  return signs;
}

void Tokenizer::encode_plain(std::string_view text, Word& word, std::vector<TokenId>& ids) const {
  for_each_word(text, [&](std::string_view letters) { word.encode(letters, ids); });
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for_each_word(text, [&](std::string_view letters) { words.push_back(letters); });
  return words;
}

namespace {

// What adds a language to the vocabulary: with the model that it belongs to, where there is one.
std::string extending_command(const std::filesystem::path& vocabulary,
                              const std::string& language) {
  namespace fs = std::filesystem;
  const auto command = [&language](const std::string& what, const fs::path& old,
                                   const fs::path& made) {
    return fmt::format("myxtts vocab extend {} {} --language {} --text sentences.txt --out {}",
                       what, shell_word(old.string()), language, shell_word(made.string()));
  };
  std::error_code failed;
  if (vocabulary.empty()) return command("--model", "MODEL", "MODEL-" + language);
  const fs::path folder = vocabulary.parent_path();
  if (!folder.empty() && fs::exists(folder / "config.json", failed)) {
    return command("--model", folder.lexically_normal(), name_beside(folder, "-" + language));
  }
  fs::path made = vocabulary;
  made.replace_extension();
  return command("--vocab", vocabulary, made += "-" + language + ".json");
}

}  // namespace

TextEncoder::TextEncoder(const Vocabulary& vocabulary, Language language)
    : vocabulary_(vocabulary), tokenizer_(vocabulary), language_(language) {
  if (vocabulary.find(language_tag(language))) return;
  const std::string code = language_code(language);
  throw ConfigError(fmt::format(
      "The vocabulary has no token {} and so cannot encode '{}'; it knows {}. Choose "
      "one of these, or write sentences of the language into sentences.txt, one a line, "
      "and add it ({}).",
      language_tag(language), code, fmt::join(vocabulary.languages(), ", "),
      extending_command(vocabulary.file(), code)));
}

EncodedText TextEncoder::encode(std::string_view text) const {
  EncodedText result;
  result.clean = clean_text(text, language_);
  std::string tagged = language_tag(language_);
  tagged.reserve(tagged.size() + result.clean.size() * 2);
  for (const char c : result.clean) {
    if (c == ' ') {
      tagged += "[SPACE]";
    } else {
      tagged += c;
    }
  }
  result.ids = tokenizer_.encode(tagged);
  return result;
}

bool TextEncoder::is_unknown(const EncodedText& text) const {
  const auto space = vocabulary_.find("[SPACE]");
  return text.ids.size() > 1 && std::all_of(text.ids.begin() + 1, text.ids.end(), [&](TokenId id) {
           return id == vocabulary_.unknown() || id == space;
         });
}

}  // namespace myxtts
