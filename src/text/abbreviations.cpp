// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include <unicode/utf8.h>

#include "text/replacements.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

struct Abbreviation {
  std::string_view key;
  std::string_view words;
};

// In the order they are tried. The peer's tables, its spelling and its guesses included.
constexpr auto kEnglish = std::to_array<Abbreviation>({{"mrs", "misess"},
                                                       {"mr", "mister"},
                                                       {"dr", "doctor"},
                                                       {"st", "saint"},
                                                       {"co", "company"},
                                                       {"jr", "junior"},
                                                       {"maj", "major"},
                                                       {"gen", "general"},
                                                       {"drs", "doctors"},
                                                       {"rev", "reverend"},
                                                       {"lt", "lieutenant"},
                                                       {"hon", "honorable"},
                                                       {"sgt", "sergeant"},
                                                       {"capt", "captain"},
                                                       {"esq", "esquire"},
                                                       {"ltd", "limited"},
                                                       {"col", "colonel"},
                                                       {"ft", "fort"}});
constexpr auto kSpanish = std::to_array<Abbreviation>({{"sra", "señora"},
                                                       {"sr", "señor"},
                                                       {"dr", "doctor"},
                                                       {"dra", "doctora"},
                                                       {"st", "santo"},
                                                       {"co", "compañía"},
                                                       {"jr", "junior"},
                                                       {"ltd", "limitada"}});
constexpr auto kFrench = std::to_array<Abbreviation>({{"mme", "madame"},
                                                      {"mr", "monsieur"},
                                                      {"dr", "docteur"},
                                                      {"st", "saint"},
                                                      {"co", "compagnie"},
                                                      {"jr", "junior"},
                                                      {"ltd", "limitée"}});
constexpr auto kGerman = std::to_array<Abbreviation>(
    {{"fr", "frau"}, {"dr", "doktor"}, {"st", "sankt"}, {"co", "firma"}, {"jr", "junior"}});
constexpr auto kPortuguese = std::to_array<Abbreviation>({{"sra", "senhora"},
                                                          {"sr", "senhor"},
                                                          {"dr", "doutor"},
                                                          {"dra", "doutora"},
                                                          {"st", "santo"},
                                                          {"co", "companhia"},
                                                          {"jr", "júnior"},
                                                          {"ltd", "limitada"}});
constexpr auto kItalian = std::to_array<Abbreviation>({{"sig", "signore"},
                                                       {"dr", "dottore"},
                                                       {"st", "santo"},
                                                       {"co", "compagnia"},
                                                       {"jr", "junior"},
                                                       {"ltd", "limitata"}});
constexpr auto kPolish = std::to_array<Abbreviation>(
    {{"p", "pani"}, {"m", "pan"}, {"dr", "doktor"}, {"sw", "święty"}, {"jr", "junior"}});
constexpr auto kCzech =
    std::to_array<Abbreviation>({{"dr", "doktor"}, {"ing", "inženýr"}, {"p", "pan"}});
constexpr auto kDutch = std::to_array<Abbreviation>(
    {{"dhr", "de heer"}, {"mevr", "mevrouw"}, {"dr", "dokter"}, {"jhr", "jonkheer"}});
constexpr auto kTurkish =
    std::to_array<Abbreviation>({{"b", "bay"}, {"byk", "büyük"}, {"dr", "doktor"}});
constexpr auto kHungarian =
    std::to_array<Abbreviation>({{"dr", "doktor"}, {"b", "bácsi"}, {"nőv", "nővér"}});

// These are written with a hyphen and have no dot.
constexpr auto kRussian =
    std::to_array<Abbreviation>({{"г-жа", "госпожа"}, {"г-н", "господин"}, {"д-р", "доктор"}});

std::span<const Abbreviation> abbreviations(Language language) {
  switch (language) {
    case Language::En:
      return kEnglish;
    case Language::Es:
      return kSpanish;
    case Language::Fr:
      return kFrench;
    case Language::De:
      return kGerman;
    case Language::It:
      return kItalian;
    case Language::Pt:
      return kPortuguese;
    case Language::Pl:
      return kPolish;
    case Language::Cs:
      return kCzech;
    case Language::Nl:
      return kDutch;
    case Language::Tr:
      return kTurkish;
    case Language::Hu:
      return kHungarian;
    case Language::Ru:
      return kRussian;
    default:
      return {};
  }
}

// Letters that a match without regard to case takes for the plain ones, in lower-case text.
char32_t folded(char32_t c) {
  switch (c) {
    case U'ſ':
      return U's';
    case U'ı':
      return U'i';
    case U'\u1C81':
      return U'д';
    default:
      return c;
  }
}

// Where `key` ends if it stands at `at`, a word's start.
std::optional<std::size_t> match_key(std::string_view text, std::size_t at, std::string_view key) {
  const std::size_t start = at;
  for (std::size_t in_key = 0; in_key < key.size();) {
    const char32_t wanted = code_point_at(key, in_key);
    const char32_t c = code_point_at(text, at);
    if (c == kNoCodePoint || folded(c) != wanted) return std::nullopt;
    in_key += static_cast<std::size_t>(U8_LENGTH(wanted));
    at += static_cast<std::size_t>(U8_LENGTH(c));
  }
  if (!is_word_boundary(text, start)) return std::nullopt;
  return at;
}

// Where the whole abbreviation ends: after its dot, or for Russian at a word's end.
std::optional<std::size_t> match(std::string_view text, std::size_t at, std::string_view key,
                                 bool dotted) {
  const auto end = match_key(text, at, key);
  if (!end) return std::nullopt;
  if (!dotted) return is_word_boundary(text, *end) ? end : std::nullopt;
  if (*end < text.size() && text[*end] == '.') return *end + 1;
  return std::nullopt;
}

std::size_t step(std::string_view text, std::size_t at) {
  return static_cast<std::size_t>(U8_LENGTH(code_point_at(text, at)));
}

std::string expand_one(std::string_view text, const Abbreviation& abbreviation, bool dotted) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (const auto end = match(text, at, abbreviation.key, dotted)) {
      out.append(text, copied, at - copied).append(abbreviation.words);
      at = copied = *end;
    } else {
      at += step(text, at);
    }
  }
  return out.append(text, copied);
}

// Whether any abbreviation stands in the text. An expansion brings in no new ones, so a text
// without any needs no further look.
bool has_any(std::string_view text, std::span<const Abbreviation> known, bool dotted) {
  bool in_word = false;
  for (std::size_t at = 0; at < text.size(); at += step(text, at)) {
    const bool word = is_word(code_point_at(text, at));
    if (word && !in_word) {
      const auto here = [&](const Abbreviation& one) {
        return match(text, at, one.key, dotted).has_value();
      };
      if (std::ranges::any_of(known, here)) return true;
    }
    in_word = word;
  }
  return false;
}

}  // namespace

std::string expand_abbreviations(std::string text, Language language) {
  const std::span<const Abbreviation> known = abbreviations(language);
  const bool dotted = language != Language::Ru;
  if (text.find(dotted ? '.' : '-') == std::string::npos || !has_any(text, known, dotted))
    return text;
  for (const Abbreviation& abbreviation : known) text = expand_one(text, abbreviation, dotted);
  return text;
}

}  // namespace myxtts
