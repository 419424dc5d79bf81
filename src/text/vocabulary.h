// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace myxtts {

using TokenId = std::int32_t;

// The tokens of a model and how letters merge into them: a file of the Hugging Face `tokenizers`
// library that holds a BPE model with the pre-tokeniser `Whitespace` (XTTS's vocab.json).
//
// Immutable once read, so any number of threads may share one. See Tokenizer for what is done with
// it.
class Vocabulary {
 public:
  // What two neighbouring tokens become.
  struct Merge {
    std::int32_t rank = 0;  // lower goes first
    TokenId result = 0;
  };
  // A token that is cut out of the text before anything else happens to it, such as [SPACE] or
  // [en].
  struct AddedToken {
    std::string content;
    TokenId id = 0;
  };

  // Throw DataError, naming the file and the remedy, for a file that is missing, is not such a
  // vocabulary, or asks for something that XTTS's vocabularies do not have.
  static Vocabulary load(const std::filesystem::path& path);
  static Vocabulary parse(std::string_view json, std::string_view origin);

  // The rows that a text embedding needs: the largest id + 1 (files may have holes).
  std::int64_t rows() const { return rows_; }

  std::optional<TokenId> find(std::string_view token) const;
  // The id of a token every XTTS vocabulary has: [STOP], [UNK], [SPACE], [START].
  TokenId stop() const { return stop_; }
  TokenId unknown() const { return unknown_; }
  TokenId start() const { return start_; }
  // The token of an id; empty for a hole.
  std::string_view token(TokenId id) const;
  // The tags of the languages it knows, e.g. "en" for [en], in order of their ids.
  std::vector<std::string> languages() const;

  std::optional<TokenId> find_letter(char32_t letter) const {
    if (letter >= common_letters_.size()) return find_rare_letter(letter);
    const TokenId id = common_letters_[letter];
    return id == kNoToken ? std::nullopt : std::optional(id);
  }
  const Merge* find_merge(TokenId left, TokenId right) const {
    const std::uint64_t pair = pair_key(left, right);
    const std::size_t last = merge_slots_.size() - 1;
    std::size_t slot = spread(pair) & last;
    while (merge_slots_[slot].pair != pair) {
      if (merge_slots_[slot].pair == kNoPair) return nullptr;
      slot = (slot + 1) & last;
    }
    return &merge_slots_[slot].merge;
  }
  // The file it was read from; empty where there is none.
  const std::filesystem::path& file() const { return file_; }
  // The same for two only if one is a copy of the other. Never 0.
  std::uint64_t identity() const { return identity_; }
  // A checksum of the file: what is kept on disk of encoded texts is keyed by it.
  std::uint64_t content() const { return content_; }
  // Longest first.
  const std::vector<AddedToken>& added_tokens() const { return added_tokens_; }

 private:
  static std::uint64_t pair_key(TokenId left, TokenId right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U) |
           static_cast<std::uint32_t>(right);
  }
  // Neighbouring ids far apart, for a hash table.
  static std::size_t spread(std::uint64_t pair) {
    return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15U) >> 32U);
  }

  std::optional<TokenId> find_rare_letter(char32_t letter) const;
  void read_tokens(const nlohmann::json& entries, std::string_view origin);
  void read_merges(const nlohmann::json& merges, std::string_view origin);
  void read_added_tokens(const nlohmann::json& added, std::string_view origin);
  void index_merges();
  void index(const nlohmann::json& unknown_token, std::string_view origin);

  std::unordered_map<std::string, TokenId> ids_;
  std::vector<std::string> tokens_;  // by id
  static constexpr TokenId kNoToken = -1;
  static constexpr std::size_t kCommonLetters = 0x3000;
  std::unordered_map<char32_t, TokenId> letters_;    // tokens of one code point
  std::vector<TokenId> common_letters_;              // the same, of those below kCommonLetters
  std::unordered_map<std::uint64_t, Merge> merges_;  // by (left << 32 | right)
  // The same, for find_merge(): open addressing in a power of two of slots, at most half of them
  // used.
  struct MergeSlot {
    std::uint64_t pair = kNoPair;
    Merge merge;
  };
  static constexpr std::uint64_t kNoPair = ~std::uint64_t{0};  // no two ids give it
  std::vector<MergeSlot> merge_slots_;
  std::vector<AddedToken> added_tokens_;
  std::uint64_t identity_ = 0;
  std::uint64_t content_ = 0;
  std::filesystem::path file_;
  std::int64_t rows_ = 0;
  TokenId stop_ = 0;
  TokenId unknown_ = 0;
  TokenId start_ = 0;
};

}  // namespace myxtts
