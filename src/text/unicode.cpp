// SPDX-License-Identifier: Apache-2.0
#include "text/unicode.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <fmt/ranges.h>
#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::uint32_t kWordMask = U_GC_L_MASK | U_GC_N_MASK;

void check(UErrorCode status, std::string_view doing) {
  MYXTTS_CHECK(U_SUCCESS(status), "ICU failed at {}: {}", doing, u_errorName(status));
}

std::string with_classes(std::string_view expression) {
  constexpr std::string_view kWord = R"([\p{L}\p{N}_])";
  constexpr std::string_view kSpace =
      R"([\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])";
  const std::string boundary = fmt::format("(?:(?<!{0})(?={0})|(?<={0})(?!{0}))", kWord);
  std::string expanded;
  for (std::size_t at = 0; at < expression.size();) {
    const std::string_view rest = expression.substr(at);
    const auto stands_for = [&](std::string_view name, std::string_view meaning) {
      if (!rest.starts_with(name)) return false;
      expanded += meaning;
      at += name.size();
      return true;
    };
    if (stands_for("{W}", kWord) || stands_for("{SP}", kSpace) || stands_for("{B}", boundary))
      continue;
    expanded += expression[at++];
  }
  return expanded;
}

std::string to_lower_in_context(std::string_view text) {
  std::string lower;
  UErrorCode status = U_ZERO_ERROR;
  icu::StringByteSink<std::string> sink(&lower);
  icu::CaseMap::utf8ToLower("", 0, {text.data(), static_cast<std::int32_t>(text.size())}, sink,
                            nullptr, status);
  check(status, "lower-casing");
  return lower;
}

bool is_space_beyond_ascii(char32_t c) {
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::uint8_t look_up_classes(char32_t c) {
  const std::uint32_t type = U_GET_GC_MASK(static_cast<UChar32>(c));
  const unsigned classes = ((type & kWordMask) != 0 ? detail::kIsWord : 0U) |
                           ((type & U_GC_ND_MASK) != 0 ? detail::kIsDigit : 0U) |
                           (is_space_beyond_ascii(c) ? detail::kIsSpace : 0U);
  return static_cast<std::uint8_t>(classes);
}

}  // namespace

namespace detail {

std::uint8_t classes_beyond_ascii(char32_t c) {
  // Those of the first plane, where nearly all text lies; ICU takes ten times as long to say.
  static const auto table = [] {
    std::vector<std::uint8_t> classes(0x10000);
    for (char32_t each = 0x80; each < classes.size(); ++each) classes[each] = look_up_classes(each);
    return classes;
  }();
  return c < table.size() ? table[c] : look_up_classes(c);
}

char32_t decode(std::string_view text, std::size_t at) {
  UChar32 c = 0;
  U8_NEXT(reinterpret_cast<const std::uint8_t*>(text.data()), at, text.size(), c);
  return static_cast<char32_t>(c);
}

}  // namespace detail

bool is_mark(char32_t c) {
  constexpr std::uint32_t kMarks = U_GC_M_MASK;
  return (U_MASK(u_charType(static_cast<UChar32>(c))) & kMarks) != 0;
}

bool is_unspaced(char32_t c) {
  if (c < 0x0E00) return false;  // before Thai, the first of them
  UErrorCode error = U_ZERO_ERROR;
  switch (uscript_getScript(static_cast<UChar32>(c), &error)) {
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_THAI:
    case USCRIPT_LAO:
    case USCRIPT_KHMER:
    case USCRIPT_MYANMAR:
      return true;
    default:
      return false;
  }
}

std::string repair_utf8(std::string_view bytes, std::size_t* replaced) {
  std::string text;
  std::size_t copied = 0;
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t start = at;
    UChar32 c = 0;
    U8_NEXT(data, at, bytes.size(), c);
    if (c >= 0) continue;
    text.append(bytes, copied, start - copied).append("\uFFFD");
    copied = at;
    if (replaced != nullptr) ++*replaced;
  }
  return text.append(bytes, copied);
}

std::optional<std::size_t> first_invalid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t start = at;
    UChar32 c = 0;
    U8_NEXT(reinterpret_cast<const std::uint8_t*>(bytes.data()), at, bytes.size(), c);
    if (c < 0) return start;
  }
  return std::nullopt;
}

char32_t code_point_before(std::string_view text, std::size_t at) {
  if (at == 0) return kNoCodePoint;
  const auto last = static_cast<unsigned char>(text[at - 1]);
  if (last < 0x80) return last;
  do {
    --at;
  } while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return code_point_at(text, at);
}

bool is_word_boundary(std::string_view text, std::size_t at) {
  const char32_t before = code_point_before(text, at);
  const char32_t after = code_point_at(text, at);
  const bool word_before = before != kNoCodePoint && is_word(before);
  const bool word_after = after != kNoCodePoint && is_word(after);
  return word_before != word_after;
}

namespace {

// What cannot be seen is called by its name.
std::string describe_sign(char32_t sign) {
  const auto letter = static_cast<UChar32>(sign);
  const std::string number = fmt::format("U+{:04X}", static_cast<std::uint32_t>(sign));
  if (u_isgraph(letter) && (U_GET_GC_MASK(letter) & (U_GC_M_MASK | U_GC_CF_MASK)) == 0) {
    std::string shown = "'";
    append_code_point(shown, sign);
    return fmt::format("{}' ({})", shown, number);
  }
  std::array<char, 100> name{};
  UErrorCode failed = U_ZERO_ERROR;
  u_charName(letter, U_UNICODE_CHAR_NAME, name.data(), static_cast<std::int32_t>(name.size()),
             &failed);
  if (U_FAILURE(failed) || name[0] == '\0') return number;
  return fmt::format("{} ({})", number, to_lower(name.data()));
}

}  // namespace

std::string describe_signs(std::span<const char32_t> signs) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> shown;
  for (const char32_t sign : signs.first(std::min(kMost, signs.size()))) {
    shown.push_back(describe_sign(sign));
  }
  const std::string listed = fmt::format("{}", fmt::join(shown, ", "));
  return signs.size() <= kMost ? listed
                               : fmt::format("{} and {} more", listed, signs.size() - kMost);
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

void append_code_point(std::string& text, char32_t c) {
  char bytes[U8_MAX_LENGTH];
  std::size_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, c);
  text.append(bytes, length);
}

std::string to_lower(std::string_view text) {
  std::string lower;
  lower.reserve(text.size() + 8);
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    // The only ones whose lower case is two characters, or depends on what stands around.
    if (c == U'İ' || c == U'Σ') return to_lower_in_context(text);
    if (c < 0x80) {
      lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    } else {
      append_code_point(lower, static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))));
    }
    at += static_cast<std::size_t>(U8_LENGTH(c));
  }
  return lower;
}

std::string composed(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  check(status, "finding NFC");
  const icu::UnicodeString result = nfc->normalize(to_unicode(text), status);
  check(status, "composing letters");
  return to_utf8(result);
}

std::string collapse_spaces(std::string_view text) {
  std::string collapsed;
  collapsed.reserve(text.size());
  bool pending = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    const std::size_t length = static_cast<std::size_t>(U8_LENGTH(c));
    if (is_space(c)) {
      pending = !collapsed.empty();
    } else {
      if (pending) collapsed += ' ';
      pending = false;
      collapsed.append(text, at, length);
    }
    at += length;
  }
  return collapsed;
}

std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    const char32_t first = code_point_at(text, 0);
    if (!is_space(first)) break;
    text.remove_prefix(static_cast<std::size_t>(U8_LENGTH(first)));
  }
  return text;
}

std::string_view strip_spaces(std::string_view text) {
  text = strip_left(text);
  while (!text.empty()) {
    const char32_t last = code_point_before(text, text.size());
    if (!is_space(last)) break;
    text.remove_suffix(static_cast<std::size_t>(U8_LENGTH(last)));
  }
  return text;
}

icu::UnicodeString to_unicode(std::string_view utf8) {
  return icu::UnicodeString::fromUTF8({utf8.data(), static_cast<std::int32_t>(utf8.size())});
}

std::string to_utf8(const icu::UnicodeString& text) {
  std::string utf8;
  return text.toUTF8String(utf8);
}

Pattern::Pattern(std::string_view expression) {
  UErrorCode status = U_ZERO_ERROR;
  UParseError where{};
  pattern_.reset(icu::RegexPattern::compile(to_unicode(with_classes(expression)), UREGEX_UNIX_LINES,
                                            where, status));
  check(status, fmt::format("compiling {}", expression));
}

Pattern::Pattern(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

std::unique_ptr<icu::RegexMatcher> Pattern::matcher(const icu::UnicodeString& text) const {
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::RegexMatcher> matcher(pattern_->matcher(text, status));
  check(status, "making a matcher");
  return matcher;
}

icu::UnicodeString Pattern::replace(
    const icu::UnicodeString& text,
    const std::function<icu::UnicodeString(const icu::RegexMatcher&)>& replacement) const {
  UErrorCode status = U_ZERO_ERROR;
  const auto found = matcher(text);
  icu::UnicodeString out;
  std::int32_t copied = 0;
  while (found->find(status)) {
    out.append(text, copied, found->start(status) - copied);
    out.append(replacement(*found));
    copied = found->end(status);
  }
  check(status, "matching");
  return out.append(text, copied, text.length() - copied);
}

icu::UnicodeString Pattern::replace(const icu::UnicodeString& text,
                                    const icu::UnicodeString& replacement) const {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeString out = matcher(text)->replaceAll(replacement, status);
  check(status, "replacing");
  return out;
}

}  // namespace myxtts
