// SPDX-License-Identifier: Apache-2.0
#include "text/vocabulary.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <unicode/utf8.h>
#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file_remedies.h"
#include "base/files.h"
#include "config/json.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

using PlainJson = nlohmann::json;

constexpr std::uintmax_t kLargestFile = 64U << 20U;
constexpr TokenId kLargestId = 1'000'000;

[[noreturn]] void refuse(std::string_view origin, const std::string& why) {
  throw DataError(fmt::format(
      "{} is not a vocabulary MyXTTS can use: {}. Give the vocab.json that belongs to the model.",
      origin, why));
}

// The code point of a token that is just one; nothing otherwise.
std::optional<char32_t> single_letter(const std::string& token) {
  const char32_t letter = code_point_at(token, 0);
  const bool single =
      letter != kNoCodePoint && static_cast<std::size_t>(U8_LENGTH(letter)) == token.size();
  return single ? std::optional(letter) : std::nullopt;
}

const PlainJson& member(const PlainJson& object, const char* name, std::string_view origin) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) {
    refuse(origin, fmt::format("it has no \"{}\"", name));
  }
  return *found;
}

// A setting that would change the ids must be absent, null or off.
void require_off(const PlainJson& object, const char* name, std::string_view origin) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null() || *found == false || *found == "" || *found == 0.0)
    return;
  refuse(origin, fmt::format("its \"{}\" is set, and XTTS's vocabularies have none", name));
}

void check_kind(const PlainJson& file, std::string_view origin) {
  if (!file.is_object()) refuse(origin, "it is not a JSON object");
  for (const char* name : {"normalizer", "post_processor"}) require_off(file, name, origin);
  const PlainJson& splitter = member(file, "pre_tokenizer", origin);
  if (!splitter.is_object() || splitter.value("type", PlainJson()) != "Whitespace") {
    refuse(origin, "its pre-tokeniser is not \"Whitespace\"");
  }
  const PlainJson& model = member(file, "model", origin);
  if (!model.is_object()) refuse(origin, "its \"model\" is not an object");
  if (const auto type = model.find("type"); type != model.end() && *type != "BPE") {
    refuse(origin, "its model is not BPE");
  }
  for (const char* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                           "byte_fallback", "ignore_merges"}) {
    require_off(model, name, origin);
  }
}

TokenId checked_id(const PlainJson& value, const std::string& token, std::string_view origin) {
  if (!value.is_number_integer() || value < 0 || value > kLargestId) {
    refuse(origin,
           fmt::format("the id of token \"{}\" is not a number from 0 to {}", token, kLargestId));
  }
  return value.get<TokenId>();
}

// Merges stand as "left right" or, in newer files, as ["left", "right"].
std::pair<std::string, std::string> merge_parts(const PlainJson& merge, std::int32_t line,
                                                std::string_view origin) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const auto blank = text.find(' ');
    if (blank != std::string::npos && text.find(' ', blank + 1) == std::string::npos) {
      return {text.substr(0, blank), text.substr(blank + 1)};
    }
  }
  refuse(origin, fmt::format("merge number {} is not a pair of tokens", line));
}

}  // namespace

Vocabulary Vocabulary::load(const std::filesystem::path& path) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);  // fails for a folder
  if (failure) {
    throw DataError(
        fmt::format("The vocabulary {} cannot be read: {}. Give the path of a vocab.json.",
                    path.string(), failure.message()));
  }
  if (size > kLargestFile) {
    refuse(path.string(), fmt::format("it has {} bytes, more than the {} any vocabulary needs",
                                      size, kLargestFile));
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file && !file.eof()) {
    throw DataError(fmt::format("The vocabulary {} may not be read by you. {}", path.string(),
                                permission_remedy(path, FileUse::Read)));
  }
  Vocabulary result = parse(text, path.string());
  result.file_ = path;
  return result;
}

Vocabulary Vocabulary::parse(std::string_view json, std::string_view origin) {
  const auto file = parse_shallow_json<PlainJson>(json);
  if (file.is_discarded()) {
    if (const auto what = placeholder_of(json); !what.empty()) {
      throw DataError(fmt::format("{} is {}.", origin, what));
    }
    refuse(origin, "it is not valid JSON, or nested too deeply");
  }
  check_kind(file, origin);

  const PlainJson& model = file["model"];
  Vocabulary result;
  result.read_tokens(member(model, "vocab", origin), origin);
  result.read_merges(member(model, "merges", origin), origin);
  if (const auto added = file.find("added_tokens"); added != file.end() && !added->is_null()) {
    result.read_added_tokens(*added, origin);
  }
  result.index(model.value("unk_token", PlainJson()), origin);
  FastChecksum checksum;
  checksum.add(bytes_of(json));
  result.content_ = checksum.value();
  return result;
}

void Vocabulary::read_tokens(const PlainJson& entries, std::string_view origin) {
  if (!entries.is_object()) refuse(origin, "its \"vocab\" is not an object");
  ids_.reserve(entries.size());
  for (const auto& [token, id] : entries.items()) {
    ids_.insert_or_assign(token, checked_id(id, token, origin));
  }
}

// The last of two equal pairs counts, as in the library that wrote the file.
void Vocabulary::read_merges(const PlainJson& merges, std::string_view origin) {
  if (!merges.is_array()) refuse(origin, "its \"merges\" is not a list");
  merges_.reserve(merges.size());
  std::int32_t rank = 0;
  for (const PlainJson& merge : merges) {
    const auto [left, right] = merge_parts(merge, rank, origin);
    const auto left_id = find(left);
    const auto right_id = find(right);
    const auto joined_id = find(left + right);
    if (!left_id || !right_id || !joined_id) {
      refuse(origin, fmt::format("merge number {} (\"{} {}\") names a token that is not in it",
                                 rank, left, right));
    }
    merges_.insert_or_assign(pair_key(*left_id, *right_id), Merge{rank, *joined_id});
    ++rank;
  }
  index_merges();
}

void Vocabulary::read_added_tokens(const PlainJson& added, std::string_view origin) {
  if (!added.is_array()) refuse(origin, "its \"added_tokens\" is not a list");
  for (const PlainJson& entry : added) {
    const PlainJson& content = member(entry, "content", origin);
    if (!content.is_string() || content == "") refuse(origin, "an added token has no text");
    for (const char* name : {"single_word", "lstrip", "rstrip"}) require_off(entry, name, origin);
    const auto& text = content.get_ref<const std::string&>();
    const auto known = find(text);
    const TokenId id = known ? *known : checked_id(member(entry, "id", origin), text, origin);
    ids_.insert_or_assign(text, id);
    added_tokens_.push_back({text, id});
  }
  std::stable_sort(
      added_tokens_.begin(), added_tokens_.end(),
      [](const AddedToken& a, const AddedToken& b) { return a.content.size() > b.content.size(); });
}

void Vocabulary::index(const PlainJson& unknown_token, std::string_view origin) {
  static std::atomic<std::uint64_t> vocabularies_read = 0;
  identity_ = ++vocabularies_read;
  common_letters_.assign(kCommonLetters, kNoToken);
  for (const auto& [token, id] : ids_) {
    rows_ = std::max<std::int64_t>(rows_, id + 1);
    if (const auto letter = single_letter(token)) {
      letters_.emplace(*letter, id);
      if (*letter < common_letters_.size()) common_letters_[*letter] = id;
    }
  }
  tokens_.resize(static_cast<std::size_t>(rows_));
  for (const auto& [token, id] : ids_) {
    std::string& place = tokens_[static_cast<std::size_t>(id)];
    if (!place.empty()) {
      refuse(origin, fmt::format("its tokens \"{}\" and \"{}\" share the id {}",
                                 std::min(place, token), std::max(place, token), id));
    }
    place = token;
  }

  if (unknown_token != "[UNK]") refuse(origin, "its \"unk_token\" is not \"[UNK]\"");
  const auto required = [&](const char* token) {
    const auto id = find(token);
    if (!id) refuse(origin, fmt::format("it has no token {}", token));
    return *id;
  };
  stop_ = required("[STOP]");
  unknown_ = required("[UNK]");
  required("[SPACE]");
  start_ = required("[START]");
}

std::optional<TokenId> Vocabulary::find(std::string_view token) const {
  const auto found = ids_.find(std::string(token));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::string_view Vocabulary::token(TokenId id) const {
  const auto place = static_cast<std::size_t>(id);
  return id < 0 || place >= tokens_.size() ? std::string_view() : std::string_view(tokens_[place]);
}

std::vector<std::string> Vocabulary::languages() const {
  std::vector<std::string> result;
  for (const std::string& token : tokens_) {
    const bool tag = token.size() >= 4 && token.front() == '[' && token.back() == ']' &&
                     std::all_of(token.begin() + 1, token.end() - 1,
                                 [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
    if (tag) result.push_back(token.substr(1, token.size() - 2));
  }
  return result;
}

std::optional<TokenId> Vocabulary::find_rare_letter(char32_t letter) const {
  const auto found = letters_.find(letter);
  return found == letters_.end() ? std::nullopt : std::optional(found->second);
}

void Vocabulary::index_merges() {
  merge_slots_.assign(std::bit_ceil(merges_.size() * 2 + 1), {});
  const std::size_t last = merge_slots_.size() - 1;
  for (const auto& [pair, merge] : merges_) {
    std::size_t slot = spread(pair) & last;
    while (merge_slots_[slot].pair != kNoPair) slot = (slot + 1) & last;
    merge_slots_[slot] = {pair, merge};
  }
}

}  // namespace myxtts
