// SPDX-License-Identifier: Apache-2.0
#include "text/language.h"

#include <dlfcn.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "base/error.h"

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
  std::array<Language, kRows.size()> languages{};
  for (std::size_t index = 0; index < kRows.size(); ++index)
    languages[index] = kRows[index].language;
  return languages;
}();

constexpr bool rows_follow_the_enumeration() {
  for (std::size_t index = 0; index < kRows.size(); ++index) {
    if (static_cast<std::size_t>(kRows[index].language) != index) return false;
  }
  return true;
}
static_assert(rows_follow_the_enumeration());

const Row& row(Language language) {
  return kRows[static_cast<std::size_t>(language)];
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
  if (found == kRows.end()) {
    throw ConfigError(
        fmt::format("The language '{}' is not known. Use one of: {}.", name, known_codes()));
  }
  return found->language;
}

std::string_view language_code(Language language) {
  return row(language).code;
}

std::string language_tag(Language language) {
  return fmt::format("[{}]", row(language).code);
}

std::size_t length_limit(Language language) {
  return row(language).limit;
}

namespace {

namespace fs = std::filesystem;

fs::path library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_text_data), &info) == 0) return {};
  std::error_code failure;
  return fs::canonical(info.dli_fname, failure).parent_path();
}

}  // namespace

std::optional<fs::path> find_text_data(std::string_view name) {
  std::vector<fs::path> places;
  if (const char* given = std::getenv("MYXTTS_TEXT_DATA")) {
    places.emplace_back(given);
  } else if (const fs::path library = library_folder(); !library.empty()) {
    places.push_back(library.parent_path() / "share/myxtts/text");
    places.push_back(library.parent_path().parent_path().parent_path() / ".deps/text");
  }
  for (const auto& place : places) {
    std::error_code failure;
    if (fs::is_directory(place / name, failure)) return place / name;
  }
  return std::nullopt;
}

}  // namespace myxtts
