// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace myxtts {

// The ids of words that one thread met lately: text repeats its words, and to merge one anew takes
// several times as long as to find it here. Of two words with the same place the later stays. Words
// that are long or have many tokens are rare and not kept.
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

}  // namespace myxtts
