// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <unicode/regex.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

namespace myxtts {

// Text is UTF-8 in std::string between the parts of this module, and valid once it has passed
// repair_utf8(). The classes below are those of the regular expressions that XTTS's vocabularies
// were made with; ICU's own \b, \w and \s differ from them and are not used.

namespace detail {
// What a character is, as bits.
inline constexpr std::uint8_t kIsWord = 1;
inline constexpr std::uint8_t kIsSpace = 2;
inline constexpr std::uint8_t kIsDigit = 4;
std::uint8_t classes_beyond_ascii(char32_t c);
char32_t decode(std::string_view text, std::size_t at);
}  // namespace detail

// W: letters, numbers of any kind and '_'; marks are not in it.
inline bool is_word(char32_t c) {
  if (c >= 0x80) return (detail::classes_beyond_ascii(c) & detail::kIsWord) != 0;
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
// SP: blanks, line ends and the separators U+001C to U+001F.
inline bool is_space(char32_t c) {
  if (c >= 0x80) return (detail::classes_beyond_ascii(c) & detail::kIsSpace) != 0;
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
}
// Decimal digits of any script.
inline bool is_digit(char32_t c) {
  return c < 0x80 ? c >= '0' && c <= '9'
                  : (detail::classes_beyond_ascii(c) & detail::kIsDigit) != 0;
}

// Marks upon letters, which is_word() leaves out: accents, and the vowel signs of Hindi.
bool is_mark(char32_t c);

// Characters of scripts that leave no blanks between words: each stands for itself.
bool is_unspaced(char32_t c);

// Valid UTF-8: each maximal invalid sequence becomes one U+FFFD. Adds their number to *replaced.
std::string repair_utf8(std::string_view bytes, std::size_t* replaced = nullptr);

// Where the first byte that is not UTF-8 stands; nothing for valid text.
std::optional<std::size_t> first_invalid_utf8(std::string_view bytes);

// The code point that starts at text[at], or the one that ends before it; -1 at the border.
// The text must be valid UTF-8.
inline constexpr char32_t kNoCodePoint = static_cast<char32_t>(-1);
inline char32_t code_point_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return kNoCodePoint;
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return first;
  if (first >= 0xC2 && first < 0xE0 && at + 1 < text.size()) {  // two bytes
    const auto second = static_cast<unsigned char>(text[at + 1]);
    if ((second & 0xC0U) == 0x80) return (first & 0x1FU) << 6U | (second & 0x3FU);
  }
  return detail::decode(text, at);
}
char32_t code_point_before(std::string_view text, std::size_t at);

// B: between a word character and something else, or the border of the text.
bool is_word_boundary(std::string_view text, std::size_t at);

// "'€' (U+20AC), U+200B (zero width space) and 3 more": signs as a person finds them in a text.
std::string describe_signs(std::span<const char32_t> signs);

std::size_t count_code_points(std::string_view text);
void append_code_point(std::string& text, char32_t c);

// Lower case in no particular language: a Turkish I becomes i.
std::string to_lower(std::string_view text);

// Letters and their marks as one character each where there is one (NFC).
std::string composed(std::string_view text);

// Every run of blanks becomes one space, none at either end.
std::string collapse_spaces(std::string_view text);

// The text without blanks at its start and its end.
std::string_view strip_left(std::string_view text);
std::string_view strip_spaces(std::string_view text);

icu::UnicodeString to_unicode(std::string_view utf8);
std::string to_utf8(const icu::UnicodeString& text);

// A regular expression compiled once. In its text {W}, {SP} and {B} stand for the classes above,
// and \d for any decimal digit. One Pattern may be used by many threads at once.
class Pattern {
 public:
  explicit Pattern(std::string_view expression);
  Pattern(Pattern&&) noexcept;
  ~Pattern();

  // A matcher over `text`, which must outlive it.
  [[nodiscard]] std::unique_ptr<icu::RegexMatcher> matcher(const icu::UnicodeString& text) const;

  // Every match from left to right becomes what `replacement` says of it.
  [[nodiscard]] icu::UnicodeString replace(
      const icu::UnicodeString& text,
      const std::function<icu::UnicodeString(const icu::RegexMatcher&)>& replacement) const;

  // Every match becomes `replacement`, in which $1 is group 1.
  [[nodiscard]] icu::UnicodeString replace(const icu::UnicodeString& text,
                                           const icu::UnicodeString& replacement) const;

 private:
  std::unique_ptr<icu::RegexPattern> pattern_;
};

}  // namespace myxtts
