// SPDX-License-Identifier: Apache-2.0
#include "text/script.h"

#include <algorithm>
#include <map>
#include <utility>

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include "text/unicode.h"

namespace myxtts {
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
