// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace myxtts {

// A language: one of the eighteen whose texts have a cleaner of their own, or any other by its
// code, whose texts are cleaned plainly. Whether a model can speak it is its vocabulary's matter:
// it has the language's tag or not (see TextEncoder).
class Language {
 public:
  // The seventeen languages of XTTS v2, and Persian.
  enum Known : std::uint8_t {
    En,
    Es,
    Fr,
    De,
    It,
    Pt,
    Pl,
    Tr,
    Ru,
    Nl,
    Cs,
    Ar,
    Zh,
    Ja,
    Hu,
    Ko,
    Hi,
    Fa,
    Other
  };

  constexpr Language(Known known) : known_(known) {}
  // Of a code of two or three small letters that is none of the above.
  static Language other(std::string_view code);

  constexpr Known known() const { return known_; }
  // Whether it is none of the eighteen.
  constexpr bool is_other() const { return known_ == Other; }
  std::string other_code() const;  // empty for the eighteen

  friend constexpr auto operator<=>(const Language&, const Language&) = default;

 private:
  Known known_;
  std::array<char, 3> code_{};  // of another language; zeros behind it
};

// The eighteen, in the order of the enumeration.
std::span<const Language> all_languages();

// Reads "pt", "pt-BR", "zh-cn" or "ro": letters' case does not matter and the region is cut. Throws
// ConfigError for what is no code of two or three letters.
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
std::string language_code(Language language);

// The token a vocabulary holds for it: "[pt]", "[zh-cn]".
std::string language_tag(Language language);

// Code points of raw text above which speech may be cut short; long text is split at this width.
std::size_t length_limit(Language language);

// The writing system that most letters of a text are of, by its English name: "Latin", "Arabic",
// "Cyrillic", "Han". Empty for a text without letters. Only the first few hundred are looked at.
std::string_view script_of(std::string_view utf8);

// Whether texts of the language are written so. A language outside the eighteen uses every script:
// nothing is known of it.
bool uses_script(Language language, std::string_view script);

// Which of the eighteen a text in that script is most likely of, by its letters; empty where the
// script has none of them, or too many to tell (Latin).
std::string likely_language(std::string_view utf8, std::string_view script);

// The folder of text data named `name` ("pypinyin", "unidic"), fetched by tools/setup: looked for
// in $MYXTTS_TEXT_DATA, then beside the program (share/myxtts/text), then in the checkout it was
// built in.
std::optional<std::filesystem::path> find_text_data(std::string_view name);

}  // namespace myxtts
