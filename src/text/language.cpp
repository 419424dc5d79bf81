// SPDX-License-Identifier: Apache-2.0
#include "text/language.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include "base/error.h"
#include "base/process.h"
#include "config/value_text.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

struct Row {
  Language language;
  std::string_view code;
  std::size_t limit;  // code points
};

constexpr std::array kRows{
    Row{Language::En, "en", 250},   Row{Language::Es, "es", 239}, Row{Language::Fr, "fr", 273},
    Row{Language::De, "de", 253},   Row{Language::It, "it", 213}, Row{Language::Pt, "pt", 203},
    Row{Language::Pl, "pl", 224},   Row{Language::Tr, "tr", 226}, Row{Language::Ru, "ru", 182},
    Row{Language::Nl, "nl", 251},   Row{Language::Cs, "cs", 186}, Row{Language::Ar, "ar", 166},
    Row{Language::Zh, "zh-cn", 82}, Row{Language::Ja, "ja", 71},  Row{Language::Hu, "hu", 224},
    Row{Language::Ko, "ko", 95},    Row{Language::Hi, "hi", 150}, Row{Language::Fa, "fa", 166},
};

constexpr auto kLanguages = [] {
  return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array<Language, kRows.size()>{kRows[kIndex].language...};
  }
  (std::make_index_sequence<kRows.size()>{});
}();

constexpr bool rows_follow_the_enumeration() {
  for (std::size_t index = 0; index < kRows.size(); ++index) {
    if (std::size_t{kRows[index].language.known()} != index) return false;
  }
  return true;
}
static_assert(rows_follow_the_enumeration());

// Code points of another language: a careful value, near the least of the languages with letters.
constexpr std::size_t kLimitOfOthers = 150;

const Row& row(Language language) {
  return kRows[language.known()];
}

bool is_code(std::string_view text) {
  return (text.size() == 2 || text.size() == 3) &&
         std::ranges::all_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

std::string_view without_region(std::string_view name) {
  return name.substr(0, name.find('-'));
}

std::string known_codes() {
  std::string codes;
  for (const Row& known : kRows) codes += fmt::format("{}{}", codes.empty() ? "" : " ", known.code);
  return codes;
}

}  // namespace

Language Language::other(std::string_view code) {
  MYXTTS_CHECK(is_code(code), "'{}' is no code of a language", code);
  Language language(Other);
  std::ranges::copy(code, language.code_.begin());
  return language;
}

std::string Language::other_code() const {
  const auto end = std::ranges::find(code_, '\0');
  return {code_.begin(), end};
}

std::span<const Language> all_languages() {
  return kLanguages;
}

Language parse_language(std::string_view name) {
  std::string lower(without_region(name));
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  const auto* found = std::ranges::find_if(
      kRows, [&](const Row& known) { return without_region(known.code) == lower; });
  if (found != kRows.end()) return found->language;
  if (is_code(lower) && is_language_code(lower)) return Language::other(lower);
  if (const auto meant = language_code_meant(name)) {
    throw ConfigError(fmt::format("'{}' is no code of a language; did you mean {}?", name, *meant));
  }
  throw ConfigError(
      fmt::format("'{}' is no code of a language. Use one of: {}; or two or three letters for "
                  "another that the model has learnt.",
                  name, known_codes()));
}

std::string language_code(Language language) {
  return language.is_other() ? language.other_code() : std::string(row(language).code);
}

std::string language_tag(Language language) {
  return fmt::format("[{}]", language_code(language));
}

std::size_t length_limit(Language language) {
  return language.is_other() ? kLimitOfOthers : row(language).limit;
}

std::optional<std::filesystem::path> find_text_data(std::string_view name) {
  return find_data("text", name, "MYXTTS_TEXT_DATA");
}

namespace {

constexpr std::size_t kLookedAt = 400;  // letters

constexpr std::string_view kLatinScript = "Latin";

// The scripts of languages that are not written in Latin letters, the main one first.
constexpr std::pair<Language, std::string_view> kScripts[] = {
    {Language::Ru, "Cyrillic"},
    {Language::Ar, "Arabic"},
    {Language::Fa, "Arabic"},
    {Language::Zh, "Han Bopomofo"},
    {Language::Ja, "Han Hiragana Katakana"},
    {Language::Ko, "Hangul Han"},
    {Language::Hi, "Devanagari"}};

// Letters that Persian has and Arabic does not, or writes otherwise.
constexpr std::u32string_view kPersianAlone = U"پچژگکی";

// Calls visit(letter, script) for the first letters of the text.
template <typename Visit>
void for_each_letter(std::string_view text, Visit visit) {
  std::size_t seen = 0;
  for (std::size_t at = 0; at < text.size() && seen < kLookedAt;) {
    const char32_t c = code_point_at(text, at);
    if (c == kNoCodePoint) return;
    at += static_cast<std::size_t>(U8_LENGTH(c));
    if (u_isalpha(static_cast<UChar32>(c)) == 0) continue;
    UErrorCode failed = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(static_cast<UChar32>(c), &failed);
    if (U_FAILURE(failed) || script == USCRIPT_COMMON || script == USCRIPT_INHERITED) continue;
    ++seen;
    visit(c, script);
  }
}

}  // namespace

std::string_view script_of(std::string_view utf8) {
  std::map<UScriptCode, std::size_t> counts;
  const std::string text = repair_utf8(utf8);
  for_each_letter(text, [&counts](char32_t, UScriptCode script) { ++counts[script]; });
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& counted) { return counted.second; });
  return most == counts.end() ? std::string_view() : std::string_view(uscript_getName(most->first));
}

bool uses_script(Language language, std::string_view script) {
  if (language.is_other()) return true;
  const std::string_view* own = find_language(kScripts, language);
  return (own == nullptr ? kLatinScript : *own).find(script) != std::string_view::npos;
}

std::string likely_language(std::string_view utf8, std::string_view script) {
  if (script == "Hiragana" || script == "Katakana") return "ja";
  bool is_persian = false;
  bool has_kana = false;
  for_each_letter(repair_utf8(utf8), [&](char32_t c, UScriptCode of) {
    is_persian = is_persian || kPersianAlone.find(c) != std::u32string_view::npos;
    has_kana = has_kana || of == USCRIPT_HIRAGANA || of == USCRIPT_KATAKANA;
  });
  if (script == "Arabic") return is_persian ? "fa" : "ar";
  if (script == "Han") return has_kana ? "ja" : "zh-cn";
  for (const auto& [language, scripts] : kScripts) {
    if (scripts.starts_with(script)) return language_code(language);
  }
  return {};
}

}  // namespace myxtts
