// SPDX-License-Identifier: Apache-2.0
#include "listen/whisper_vocabulary.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/message_text.h"
#include "config/json.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::json;

constexpr std::size_t kLargestVocabulary = std::size_t{64} << 20U;  // bytes
constexpr std::int64_t kMostTokens = 1'000'000;
constexpr std::int64_t kTimes = 1501;             // 0 to 30 s
constexpr std::int64_t kSteering = 8;             // specials that are neither languages nor times
constexpr std::int64_t kFewestLanguages = 99;     // large-v3 has one more
constexpr std::int64_t kEnglishOnlySize = 51864;  // tokens, of every size of English-only models

// In the order of their tokens.
constexpr std::string_view kLanguages[] = {
    "en", "zh", "de", "es",  "ru", "ko", "fr", "ja", "pt", "tr", "pl", "ca", "nl", "ar", "sv",
    "it", "id", "hi", "fi",  "vi", "he", "uk", "el", "ms", "cs", "ro", "da", "hu", "ta", "no",
    "th", "ur", "hr", "bg",  "lt", "la", "mi", "ml", "cy", "sk", "te", "fa", "lv", "bn", "sr",
    "az", "sl", "kn", "et",  "mk", "br", "eu", "is", "hy", "ne", "mn", "bs", "kk", "sq", "sw",
    "gl", "mr", "pa", "si",  "km", "sn", "yo", "so", "af", "oc", "ka", "be", "tg", "sd", "gu",
    "am", "yi", "lo", "uz",  "fo", "ht", "ps", "tk", "nn", "mt", "sa", "lb", "my", "bo", "tl",
    "mg", "as", "tt", "haw", "ln", "ha", "ba", "jw", "su", "yue"};

// Tokens as a file lists them: text in GPT-2's alphabet, or bytes.
struct ListedTokens {
  std::vector<std::string> bytes = {};                          // by number; empty: none
  std::map<std::string, std::int64_t, std::less<>> named = {};  // "<|en|>"
};

// GPT-2's alphabet: each byte is one visible character, its own where it has one.
std::map<char32_t, char> byte_alphabet() {
  std::map<char32_t, char> bytes;
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool is_visible =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    bytes[is_visible ? byte : next++] = static_cast<char>(byte);
  }
  return bytes;
}

// Nothing: a character is not of the alphabet.
std::optional<std::string> bytes_of_token(const std::string& token) {
  static const std::map<char32_t, char> alphabet = byte_alphabet();
  const std::string text = repair_utf8(token);
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t character = code_point_at(text, at);
    const auto found = alphabet.find(character);
    if (found == alphabet.end()) return std::nullopt;
    bytes += found->second;
    at += character < 0x80 ? 1 : 2;  // the alphabet ends far below U+0800
  }
  return bytes;
}

bool is_special(std::string_view token) {
  return token.size() > 4 && token.starts_with("<|") && token.ends_with("|>");
}

void add_token(ListedTokens& tokens, const std::string& token, std::int64_t number,
               const std::string& subject) {
  if (number < 0 || number >= kMostTokens) {
    throw DataError(fmt::format("{} gives a token the number {}.", subject, number));
  }
  if (is_special(token)) {
    tokens.named[token] = number;
    return;
  }
  auto bytes = bytes_of_token(token);
  if (!bytes) return;  // one that somebody added: it is no byte-level token
  const auto place = static_cast<std::size_t>(number);
  if (tokens.bytes.size() <= place) tokens.bytes.resize(place + 1);
  tokens.bytes[place] = std::move(*bytes);
}

void add_numbered(ListedTokens& tokens, const Json& object, const std::string& subject) {
  for (const auto& [token, number] : object.items()) {
    if (number.is_number_integer()) add_token(tokens, token, number.get<std::int64_t>(), subject);
  }
}

Json read_json(const fs::path& file) {
  const std::string text = read_text_file(file, "vocabulary", kLargestVocabulary);
  auto json = parse_shallow_json<Json>(text);
  if (json.is_discarded()) throw DataError(fmt::format("{} is not JSON.", file.string()));
  return json;
}

[[noreturn]] void refuse_vocabulary(const std::string& subject) {
  throw DataError(fmt::format("{} is no vocabulary of Whisper.", subject));
}

// tokenizer.json of Hugging Face's tokenizers.
void add_tokenizer_json(ListedTokens& tokens, const Json& json, const std::string& subject) {
  const auto model = json.find("model");
  if (model == json.end() || !model->is_object() || !model->contains("vocab") ||
      !(*model)["vocab"].is_object()) {
    refuse_vocabulary(subject);
  }
  add_numbered(tokens, (*model)["vocab"], subject);
  const auto added = json.find("added_tokens");
  if (added == json.end() || !added->is_array()) return;
  for (const Json& token : *added) {
    if (!token.is_object() || !token.contains("content") || !token["content"].is_string() ||
        !token.contains("id") || !token["id"].is_number_integer()) {
      refuse_vocabulary(subject);
    }
    add_token(tokens, token["content"].get<std::string>(), token["id"].get<std::int64_t>(),
              subject);
  }
}

// A list in which the place of a token is its number.
void add_list(ListedTokens& tokens, const std::vector<std::string>& list,
              const std::string& subject) {
  std::int64_t number = 0;
  for (const std::string& token : list) add_token(tokens, token, number++, subject);
}

ListedTokens tokens_of_json(const fs::path& file) {
  const std::string subject = file.string();
  const Json json = read_json(file);
  ListedTokens tokens;
  if (json.is_array()) {  // vocabulary.json
    std::vector<std::string> list;
    for (const Json& token : json) {
      if (!token.is_string()) refuse_vocabulary(subject);
      list.push_back(token.get<std::string>());
    }
    add_list(tokens, list, subject);
  } else if (json.is_object() && json.contains("model")) {
    add_tokenizer_json(tokens, json, subject);
  } else if (json.is_object()) {  // vocab.json
    add_numbered(tokens, json, subject);
    const fs::path added = file.parent_path() / "added_tokens.json";
    std::error_code none;
    if (fs::exists(added, none)) {
      const Json more = read_json(added);
      if (!more.is_object()) refuse_vocabulary(added.string());
      add_numbered(tokens, more, added.string());
    }
  } else {
    refuse_vocabulary(subject);
  }
  return tokens;
}

std::vector<std::string_view> lines_in(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    if (lines.back().ends_with('\r')) lines.back().remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  unsigned held = 0;
  int bits = 0;
  for (const char digit : text) {
    const auto value = kDigits.find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    held = (held << 6U | static_cast<unsigned>(value)) & 0xffffU;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> static_cast<unsigned>(bits) & 0xffU);
  }
  return bytes;
}

// "IQ== 0": the bytes of a token in base 64, and its number.
ListedTokens tokens_of_tiktoken(const fs::path& file) {
  const std::string text = read_text_file(file, "vocabulary", kLargestVocabulary);
  ListedTokens tokens;
  for (const std::string_view line : lines_in(text)) {
    if (line.empty()) continue;
    const auto blank = std::min(line.find(' '), line.size());
    const auto bytes = from_base64(line.substr(0, blank));
    std::size_t number = 0;
    const char* const end = line.data() + line.size();
    const char* const begin = line.data() + std::min(blank + 1, line.size());
    const auto [read, error] = std::from_chars(begin, end, number);
    if (!bytes || error != std::errc() || read != end || number >= kMostTokens) {
      throw DataError(fmt::format("{} has the line \"{}\", which is no token.", file.string(),
                                  printable(line.substr(0, 40))));
    }
    if (tokens.bytes.size() <= number) tokens.bytes.resize(number + 1);
    tokens.bytes[number] = *bytes;
  }
  return tokens;
}

ListedTokens tokens_of_file(const fs::path& file) {
  if (file.extension() == ".json") return tokens_of_json(file);
  if (file.extension() == ".tiktoken") return tokens_of_tiktoken(file);
  const std::string text = read_text_file(file, "vocabulary", kLargestVocabulary);
  std::vector<std::string> list;
  for (const std::string_view line : lines_in(text)) list.emplace_back(line);
  ListedTokens tokens;
  add_list(tokens, list, file.string());
  return tokens;
}

}  // namespace

WhisperVocabulary WhisperVocabulary::find(const fs::path& folder, std::int64_t tokens,
                                          const std::string& model) {
  const char* const openai = tokens == kEnglishOnlySize ? "gpt2.tiktoken" : "multilingual.tiktoken";
  for (const char* name :
       {"tokenizer.json", "vocabulary.json", "vocabulary.txt", "vocab.json", openai}) {
    std::error_code none;
    if (fs::exists(folder / name, none)) return read(folder / name, tokens);
  }
  throw DataError(fmt::format(
      "{} has no vocabulary beside it. Put one into {}: {} of OpenAI's Python package (in its "
      "folder whisper/assets), or the tokenizer.json of the same model at Hugging Face.",
      model, folder.string(), openai));
}

WhisperVocabulary WhisperVocabulary::read(const fs::path& file, std::int64_t tokens) {
  ListedTokens listed = tokens_of_file(file);
  WhisperVocabulary vocabulary;
  vocabulary.size_ = tokens;
  vocabulary.is_multilingual_ = tokens != kEnglishOnlySize;
  vocabulary.bytes_ = std::move(listed.bytes);
  vocabulary.number_specials(listed.named, file.string());
  vocabulary.bytes_.resize(static_cast<std::size_t>(vocabulary.end_of_text));
  for (std::int64_t number = vocabulary.end_of_text; number-- > 0;) {
    const std::string& bytes = vocabulary.bytes_[static_cast<std::size_t>(number)];
    if (!bytes.empty()) vocabulary.numbers_[bytes] = number;
  }
  for (int byte = 0; byte < 256; ++byte) {
    if (!vocabulary.numbers_.contains(std::string(1, static_cast<char>(byte)))) {
      refuse_vocabulary(file.string());
    }
  }
  vocabulary.space = vocabulary.numbers_.at(" ");
  vocabulary.find_never_said();
  return vocabulary;
}

// All specials follow one another: the end of text, the start, languages, what else steers, times.
// A file that names some must agree.
void WhisperVocabulary::number_specials(const Specials& named, const std::string& subject) {
  const auto end = named.find("<|endoftext|>");
  end_of_text = end != named.end() ? end->second : std::ssize(bytes_);
  start = end_of_text + 1;
  const std::int64_t languages = size_ - end_of_text - kSteering - kTimes;
  if (languages < kFewestLanguages || languages > std::ssize(kLanguages)) {
    throw DataError(fmt::format(
        "{} has {} tokens of text, which does not fit a model of {} tokens: it is the vocabulary "
        "of another model.",
        subject, end_of_text, size_));
  }
  std::int64_t next = start + 1;
  for (std::int64_t i = 0; i < languages; ++i) languages_[std::string(kLanguages[i])] = next++;
  for (std::int64_t* token : {&translate, &transcribe, &start_of_lm, &start_of_previous, &no_speech,
                              &no_times, &first_time}) {
    *token = next++;
  }
  const std::pair<const char*, std::int64_t> expected[] = {{"<|startoftranscript|>", start},
                                                           {"<|en|>", start + 1},
                                                           {"<|transcribe|>", transcribe},
                                                           {"<|notimestamps|>", no_times}};
  for (const auto& [name, number] : expected) {
    const auto found = named.find(name);
    if (found == named.end() || found->second == number) continue;
    throw DataError(
        fmt::format("{} gives {} the number {} in place of {}: it is the vocabulary of "
                    "another model.",
                    subject, name, found->second, number));
  }
}

std::int64_t WhisperVocabulary::language(std::string_view code) const {
  const auto found = languages_.find(code);
  return found == languages_.end() ? -1 : found->second;
}

std::string WhisperVocabulary::text_of(std::span<const std::int64_t> tokens) const {
  std::string bytes;
  for (const std::int64_t token : tokens) {
    if (token >= 0 && token < end_of_text) bytes += bytes_[static_cast<std::size_t>(token)];
  }
  return repair_utf8(bytes);
}

// A word that is no token itself: the pair of neighbours whose token has the lowest number becomes
// that token, until none is left.
void WhisperVocabulary::encode_word(std::string_view word,
                                    std::vector<std::int64_t>& tokens) const {
  const auto whole = numbers_.find(std::string(word));
  if (whole != numbers_.end()) {
    tokens.push_back(whole->second);
    return;
  }
  std::vector<std::string_view> parts;
  for (std::size_t i = 0; i < word.size(); ++i) parts.push_back(word.substr(i, 1));
  for (;;) {
    std::size_t best = parts.size();
    std::int64_t lowest = end_of_text;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found =
          numbers_.find(std::string(parts[i].data(), parts[i].size() + parts[i + 1].size()));
      if (found == numbers_.end() || found->second >= lowest) continue;
      lowest = found->second;
      best = i;
    }
    if (best == parts.size()) break;
    parts[best] = {parts[best].data(), parts[best].size() + parts[best + 1].size()};
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  for (const std::string_view part : parts) tokens.push_back(numbers_.at(std::string(part)));
}

std::vector<std::int64_t> WhisperVocabulary::encode(std::string_view utf8) const {
  // GPT-2's words: English endings, letters, digits or signs with the blank before them, blanks.
  static const Pattern words(
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  const icu::UnicodeString text = to_unicode(repair_utf8(utf8));
  const auto matcher = words.matcher(text);
  std::vector<std::int64_t> tokens;
  UErrorCode error = U_ZERO_ERROR;
  while (matcher->find(error) != 0) encode_word(to_utf8(matcher->group(error)), tokens);
  return tokens;
}

void WhisperVocabulary::find_never_said() {
  constexpr std::string_view kSigns[] = {
      "\"",  "#",  "(",  ")",   "*",   "+",   "/",   ":",  ";",   "<",  "=",  ">",
      "@",   "[",  "\\", "]",   "^",   "_",   "`",   "{",  "|",   "}",  "~",  "「",
      "」",  "『", "』", "<<",  ">>",  "<<<", ">>>", "--", "---", "-(", "-[", "('",
      "(\"", "((", "))", "(((", ")))", "[[",  "]]",  "{{", "}}",  "♪♪", "♪♪♪"};
  constexpr std::string_view kNotes[] = {"♩", "♪", "♫", "♬", "♭", "♮", "♯"};
  // Within a word a hyphen or an apostrophe is spelling; at its start it is not.
  std::set<std::int64_t> found{encode(" -").front(), encode(" '").front()};
  const auto add = [&](std::string_view sign, bool whole_only) {
    for (const std::string& text : {std::string(sign), " " + std::string(sign)}) {
      const auto tokens = encode(text);
      if (tokens.size() == 1 || !whole_only) found.insert(tokens.front());
    }
  };
  for (const std::string_view sign : kSigns) add(sign, true);
  for (const std::string_view note : kNotes) add(note, false);
  found.insert({start, translate, transcribe, start_of_lm, start_of_previous, no_speech});
  never_said_.assign(found.begin(), found.end());
}

}  // namespace myxtts
