// SPDX-License-Identifier: Apache-2.0
#include "text/transliteration.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <unicode/normalizer2.h>
#include <unicode/utf8.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/language.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

using PlainJson = nlohmann::json;

bool is_chinese(char32_t c) {
  static constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x3007, 0x3007},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xE815, 0xE864},
      {0xF900, 0xFAFF},   {0x20000, 0x2A6DF}, {0x2A703, 0x2B73F}, {0x2B740, 0x2B81D},
      {0x2B825, 0x2BF6E}, {0x2C029, 0x2CE93}, {0x2D016, 0x2D016}, {0x2D11B, 0x2EBD9},
      {0x2F80A, 0x2FA1F}, {0x30000, 0x3134A}, {0x31350, 0x32389}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [c](const auto& range) { return c >= range.first && c <= range.second; });
}

std::u32string to_u32(std::string_view text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();
       at += static_cast<std::size_t>(U8_LENGTH(result.back()))) {
    result += code_point_at(text, at);
  }
  return result;
}

// The first two of at least two characters, as one number.
std::uint64_t start_of(std::u32string_view run) {
  return static_cast<std::uint64_t>(run[0]) << 32U | run[1];
}

// "nǚ" as "nv3": the tone mark goes to the end as a digit, ü is v.
std::string with_tone_digit(const std::string& syllable) {
  UErrorCode status = U_ZERO_ERROR;
  const auto* nfd = icu::Normalizer2::getNFDInstance(status);
  const auto* nfc = icu::Normalizer2::getNFCInstance(status);
  MYXTTS_CHECK(U_SUCCESS(status), "ICU has no normaliser");
  const auto decomposed = nfd->normalize(to_unicode(syllable), status);
  icu::UnicodeString letters;
  char tone = '5';
  for (std::int32_t at = 0; at < decomposed.length(); ++at) {
    switch (const char16_t c = decomposed[at]) {
      case 0x0304:
        tone = '1';
        break;
      case 0x0301:
        tone = '2';
        break;
      case 0x030C:
        tone = '3';
        break;
      case 0x0300:
        tone = '4';
        break;
      case 0x0308:
        letters.setCharAt(letters.length() - 1, u'v');
        break;
      default:
        letters.append(c);
    }
  }
  return to_utf8(nfc->normalize(letters, status)) + tone;
}

[[noreturn]] void refuse(const std::filesystem::path& path) {
  throw DataError(
      fmt::format("The pinyin table {} is missing or damaged. Run tools/setup to fetch it again.",
                  path.string()));
}

PlainJson read_table(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  auto table = PlainJson::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!table.is_object()) refuse(path);
  return table;
}

char32_t read_character(const std::string& code, const std::filesystem::path& path) {
  std::uint32_t character = 0;
  const auto [end, failure] = std::from_chars(code.data(), code.data() + code.size(), character);
  if (failure != std::errc() || end != code.data() + code.size()) refuse(path);
  return static_cast<char32_t>(character);
}

// The syllables of a phrase, each a list of readings of which the first counts.
std::string read_phrase(const PlainJson& syllables, const std::filesystem::path& path) {
  std::string sound;
  if (!syllables.is_array()) refuse(path);
  for (const PlainJson& readings : syllables) {
    if (!readings.is_array() || readings.empty() || !readings[0].is_string()) refuse(path);
    sound += with_tone_digit(readings[0].get<std::string>());
  }
  return sound;
}

std::string first_reading(const std::string& readings) {
  return with_tone_digit(readings.substr(0, readings.find(',')));
}

}  // namespace

const Pinyin& Pinyin::shared() {
  static const Pinyin tables = [] {
    const auto folder = find_text_data("pypinyin");
    if (!folder) {
      throw DataError(
          "Chinese needs the pinyin tables, and they are not installed. Run tools/setup to fetch "
          "them, or "
          "set MYXTTS_TEXT_DATA to the folder that holds pypinyin/.");
    }
    return Pinyin(*folder);
  }();
  return tables;
}

Pinyin::Pinyin(const std::filesystem::path& folder) {
  const auto characters_file = folder / "pinyin_dict.json";
  const PlainJson characters = read_table(characters_file);
  for (const auto& [code, readings] : characters.items()) {
    if (!readings.is_string()) refuse(characters_file);
    characters_.emplace(read_character(code, characters_file),
                        first_reading(readings.get<std::string>()));
  }
  const auto phrases_file = folder / "phrases_dict.json";
  const PlainJson phrases = read_table(phrases_file);
  for (const auto& [phrase, syllables] : phrases.items()) {
    auto key = to_u32(phrase);
    if (key.size() < 2) continue;  // a single character is read by the other table
    std::size_t& longest = longest_phrases_[start_of(key)];
    longest = std::max(longest, key.size());
    phrases_.emplace(std::move(key), read_phrase(syllables, phrases_file));
  }
}

std::string Pinyin::transliterate(std::string_view text) const {
  std::string result;
  std::u32string run;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    const auto length = static_cast<std::size_t>(U8_LENGTH(c));
    if (is_chinese(c)) {
      run += c;
    } else {
      transliterate_run(run, result);
      run.clear();
      result.append(text.substr(at, length));
    }
    at += length;
  }
  transliterate_run(run, result);
  return result;
}

// The longest phrase of the table first, else one character.
void Pinyin::transliterate_run(std::u32string_view run, std::string& result) const {
  while (!run.empty()) {
    const auto longest =
        run.size() > 1 ? longest_phrases_.find(start_of(run)) : longest_phrases_.end();
    std::size_t length =
        longest == longest_phrases_.end() ? 1 : std::min(longest->second, run.size());
    auto phrase = phrases_.end();
    for (; length > 1; --length) {
      phrase = phrases_.find(std::u32string(run.substr(0, length)));
      if (phrase != phrases_.end()) break;
    }
    if (phrase != phrases_.end()) {
      result += phrase->second;
    } else if (const auto character = characters_.find(run[0]); character != characters_.end()) {
      result += character->second;
    } else {
      append_code_point(result, run[0]);
      result += '5';
    }
    run.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

}  // namespace myxtts
