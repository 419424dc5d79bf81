// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <unicode/utf8.h>

#include "text/cleaner.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

using Abbreviation = std::pair<std::string_view, std::string_view>;  // "dr", "doctor"

// In the order they are tried. coqui-tts' tables, its spelling and its guesses included.
constexpr Abbreviation kShortEnglish[] = {
    {"mrs", "misess"},   {"mr", "mister"},    {"dr", "doctor"},     {"st", "saint"},
    {"co", "company"},   {"jr", "junior"},    {"maj", "major"},     {"gen", "general"},
    {"drs", "doctors"},  {"rev", "reverend"}, {"lt", "lieutenant"}, {"hon", "honorable"},
    {"sgt", "sergeant"}, {"capt", "captain"}, {"esq", "esquire"},   {"ltd", "limited"},
    {"col", "colonel"},  {"ft", "fort"}};
constexpr Abbreviation kShortSpanish[] = {
    {"sra", "señora"}, {"sr", "señor"},    {"dr", "doctor"}, {"dra", "doctora"},
    {"st", "santo"},   {"co", "compañía"}, {"jr", "junior"}, {"ltd", "limitada"}};
constexpr Abbreviation kShortFrench[] = {{"mme", "madame"}, {"mr", "monsieur"},  {"dr", "docteur"},
                                         {"st", "saint"},   {"co", "compagnie"}, {"jr", "junior"},
                                         {"ltd", "limitée"}};
constexpr Abbreviation kShortGerman[] = {
    {"fr", "frau"}, {"dr", "doktor"}, {"st", "sankt"}, {"co", "firma"}, {"jr", "junior"}};
constexpr Abbreviation kShortPortuguese[] = {
    {"sra", "senhora"}, {"sr", "senhor"},    {"dr", "doutor"}, {"dra", "doutora"},
    {"st", "santo"},    {"co", "companhia"}, {"jr", "júnior"}, {"ltd", "limitada"}};
constexpr Abbreviation kShortItalian[] = {{"sig", "signore"}, {"dr", "dottore"},
                                          {"st", "santo"},    {"co", "compagnia"},
                                          {"jr", "junior"},   {"ltd", "limitata"}};
constexpr Abbreviation kShortPolish[] = {
    {"p", "pani"}, {"m", "pan"}, {"dr", "doktor"}, {"sw", "święty"}, {"jr", "junior"}};
constexpr Abbreviation kShortCzech[] = {{"dr", "doktor"}, {"ing", "inženýr"}, {"p", "pan"}};
constexpr Abbreviation kShortDutch[] = {
    {"dhr", "de heer"}, {"mevr", "mevrouw"}, {"dr", "dokter"}, {"jhr", "jonkheer"}};
constexpr Abbreviation kShortTurkish[] = {{"b", "bay"}, {"byk", "büyük"}, {"dr", "doktor"}};
constexpr Abbreviation kShortHungarian[] = {{"dr", "doktor"}, {"b", "bácsi"}, {"nőv", "nővér"}};

// These are written with a hyphen and have no dot.
constexpr Abbreviation kShortRussian[] = {
    {"г-жа", "госпожа"}, {"г-н", "господин"}, {"д-р", "доктор"}};

std::span<const Abbreviation> abbreviations(Language language) {
  static constexpr std::pair<Language, std::span<const Abbreviation>> kAbbreviations[] = {
      {Language::En, kShortEnglish},   {Language::Es, kShortSpanish},
      {Language::Fr, kShortFrench},    {Language::De, kShortGerman},
      {Language::It, kShortItalian},   {Language::Pt, kShortPortuguese},
      {Language::Pl, kShortPolish},    {Language::Cs, kShortCzech},
      {Language::Nl, kShortDutch},     {Language::Tr, kShortTurkish},
      {Language::Hu, kShortHungarian}, {Language::Ru, kShortRussian}};
  const auto* const found = find_language(kAbbreviations, language);
  return found != nullptr ? *found : std::span<const Abbreviation>();
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

// Where `key` ends if it stands at `at`.
std::optional<std::size_t> match_key(std::string_view text, std::size_t at, std::string_view key) {
  for (std::size_t in_key = 0; in_key < key.size();) {
    const char32_t wanted = code_point_at(key, in_key);
    const char32_t c = code_point_at(text, at);
    if (c == kNoCodePoint || folded(c) != wanted) return std::nullopt;
    in_key += static_cast<std::size_t>(U8_LENGTH(wanted));
    at += static_cast<std::size_t>(U8_LENGTH(c));
  }
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

// Calls `visit` with each place where a word starts.
template <typename Visit>
void for_each_word_start(std::string_view text, const Visit& visit) {
  bool in_word = false;
  for (std::size_t at = 0; at < text.size(); at += step(text, at)) {
    const bool word = is_word(code_point_at(text, at));
    if (word && !in_word) visit(at);
    in_word = word;
  }
}

std::string expand_one(std::string_view text, const Abbreviation& abbreviation, bool dotted) {
  std::string out;
  std::size_t copied = 0;
  for_each_word_start(text, [&](std::size_t at) {
    const auto end = match(text, at, abbreviation.first, dotted);
    if (!end || at < copied) return;
    out.append(text, copied, at - copied).append(abbreviation.second);
    copied = *end;
  });
  return out.append(text, copied);
}

// Which abbreviations stand in the text. An expansion brings in no others.
std::vector<const Abbreviation*> present(std::string_view text, std::span<const Abbreviation> known,
                                         bool dotted) {
  std::vector<bool> found(known.size(), false);
  for_each_word_start(text, [&](std::size_t at) {
    for (std::size_t index = 0; index < known.size(); ++index) {
      const bool may_be =
          known[index].first.front() == text[at] || static_cast<unsigned char>(text[at]) >= 0x80;
      if (may_be && match(text, at, known[index].first, dotted)) found[index] = true;
    }
  });
  std::vector<const Abbreviation*> in_order;
  for (std::size_t index = 0; index < known.size(); ++index) {
    if (found[index]) in_order.push_back(&known[index]);
  }
  return in_order;
}

}  // namespace

std::string expand_abbreviations(std::string text, Language language) {
  const std::span<const Abbreviation> known = abbreviations(language);
  const bool dotted = language != Language::Ru;
  if (text.find(dotted ? '.' : '-') == std::string::npos) return text;
  for (const Abbreviation* abbreviation : present(text, known, dotted)) {
    text = expand_one(text, *abbreviation, dotted);
  }
  return text;
}

}  // namespace myxtts
