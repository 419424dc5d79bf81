// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace myxtts {

// The seventeen languages of XTTS v2, and Persian.
enum class Language { En, Es, Fr, De, It, Pt, Pl, Tr, Ru, Nl, Cs, Ar, Zh, Ja, Hu, Ko, Hi, Fa };

// Every language, in the order of the enumeration.
std::span<const Language> all_languages();

// Reads "pt", "pt-BR" or "zh-cn": letters' case does not matter and the region is cut. Throws
// ConfigError that lists the known languages.
Language parse_language(std::string_view name);

// The value of a language in a table of pairs; null where it has none.
template <typename Value, std::size_t kCount>
constexpr const Value* find_language(const std::pair<Language, Value> (&table)[kCount],
                                     Language language) {
  for (const auto& [known, value] : table) {
    if (known == language) return &value;
  }
  return nullptr;
}

// What a user types: "pt", "zh-cn".
std::string_view language_code(Language language);

// The token a vocabulary holds for it: "[pt]", "[zh-cn]".
std::string language_tag(Language language);

// Code points of raw text above which speech may be cut short; long text is split at this width.
std::size_t length_limit(Language language);

// The folder of text data named `name` ("pypinyin", "unidic"), fetched by tools/setup: looked for
// in $MYXTTS_TEXT_DATA, then beside the program (share/myxtts/text), then in the checkout it was
// built in.
std::optional<std::filesystem::path> find_text_data(std::string_view name);

}  // namespace myxtts
