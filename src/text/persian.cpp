// SPDX-License-Identifier: Apache-2.0
#include "text/persian.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include "base/error.h"
#include "text/numbers/numbers.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

using icu::UnicodeString;

constexpr char16_t kZwnj = u'\u200C';
constexpr char16_t kHeh = u'ه';
constexpr char16_t kYeh = u'ی';
constexpr char16_t kHamzaAbove = u'\u0654';

// Letters that look alike or are foreign, and marks: each to the one that Persian uses.
constexpr std::pair<std::u16string_view, char16_t> kSame[] = {
    {u"يىېۍ", kYeh}, {u"كڪ", u'ک'}, {u"ګ", u'گ'}, {u"ہھەةۃ", kHeh}, {u"إٱ", u'ا'},
    {u"¬", kZwnj},   {u"٪", u'%'},  {u"٫", u'.'}, {u"٬", u','},     {u"−", u'-'}};

constexpr std::u16string_view kPersianQuotes = u"\"“”„«»";

using SignWords = std::pair<std::string_view, std::string_view>;  // "&", "و"
constexpr SignWords kBlessings[] = {{"ص", "صلی الله علیه و آله"},
                                    {"ع", "علیه السلام"},
                                    {"س", "سلام الله علیها"},
                                    {"ره", "رحمت الله علیه"},
                                    {"عج", "عجل الله تعالی فرجه"}};
constexpr SignWords kEras[] = {{"ه.ش", "هجری شمسی"}, {"ه.ق", "هجری قمری"}, {"ق.م", "قبل از میلاد"}};
constexpr SignWords kSymbols[] = {
    {"&", "و"},    {"@", "ات"},       {"%", "درصد"},  {"#", "شماره"},
    {"$", "دلار"}, {"€", "یورو"},     {"£", "پوند"},  {"°c", "درجه سانتی\u200Cگراد"},
    {"°", "درجه"}, {"+", "به علاوه"}, {"=", "مساوی"}, {"×", "ضربدر"},
    {",", "،"},    {";", "؛"},        {"?", "؟"}};

bool is_presentation_form(UChar32 c) {
  return (c >= 0xFB50 && c <= 0xFDFF) || (c >= 0xFE70 && c <= 0xFEFC);
}

bool is_letter(UChar32 c) {
  return (U_GET_GC_MASK(c) & U_GC_L_MASK) != 0;
}

// Vowel signs and other marks, the stretching of letters, and characters that are not seen.
bool is_deleted(UChar32 c) {
  return c == 0x0640 || (c >= 0x064C && c <= 0x065F) || c == 0x0670 ||
         (c >= 0x06D6 && c <= 0x06ED) || c == 0x00AD || c == 0x200B ||
         (c >= 0x200D && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

UnicodeString normalised(const icu::Normalizer2* form, const UnicodeString& text,
                         UErrorCode status) {
  MYXTTS_CHECK(U_SUCCESS(status), "ICU has no normaliser: {}", u_errorName(status));
  UnicodeString out = form->normalize(text, status);
  MYXTTS_CHECK(U_SUCCESS(status), "ICU failed to normalise: {}", u_errorName(status));
  return out;
}

UnicodeString without_presentation_forms(const UnicodeString& text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* compatible = icu::Normalizer2::getNFKCInstance(status);
  UnicodeString out;
  for (std::int32_t at = 0; at < text.length();) {
    const UChar32 c = text.char32At(at);
    at += U16_LENGTH(c);
    is_presentation_form(c) ? out.append(normalised(compatible, UnicodeString(c), status))
                            : out.append(c);
  }
  return normalised(icu::Normalizer2::getNFCInstance(status), out, status);
}

UChar32 plain_letter(UChar32 c) {
  if (c >= 0x06F0 && c <= 0x06F9) return c - 0x06F0 + '0';
  if (c >= 0x0660 && c <= 0x0669) return c - 0x0660 + '0';
  for (const auto& [from, to] : kSame) {
    if (c <= 0xFFFF && from.find(static_cast<char16_t>(c)) != std::u16string_view::npos) return to;
  }
  return c;
}

UnicodeString expand_abbreviations(UnicodeString text) {
  static const auto patterns = [] {
    std::vector<std::pair<Pattern, UnicodeString>> made;
    for (const auto& [sign, words] : kBlessings) {
      made.emplace_back(Pattern(fmt::format("\\( ?{} ?\\)", sign)),
                        to_unicode(fmt::format(" {} ", words)));
    }
    for (const auto& [written, words] : kEras) {
      std::string sign(written);
      sign.replace(sign.find('.'), 1, "\\. ?");
      made.emplace_back(Pattern(fmt::format("(?<!{{W}}){}(?!{{W}})\\.?", sign)), to_unicode(words));
    }
    return made;
  }();
  if (text.indexOf(u'(') < 0 && text.indexOf(u'.') < 0) return text;
  for (const auto& [pattern, words] : patterns) text = pattern.replace(text, words);
  return text;
}

std::string expand_symbols(std::string text) {
  for (const auto& [sign, words] : kSymbols) {
    const bool mark = sign == "," || sign == ";" || sign == "?";
    replace_all(text, sign, mark ? std::string(words) : fmt::format(" {} ", words));
  }
  return text;
}

// The text has single spaces. No expression repeats anything without a bound: see
// expand_persian_numbers.
UnicodeString space_punctuation(UnicodeString text) {
  static const Pattern dots(R"(\.\.\.)");
  static const Pattern before(R"( (?=[،؛؟!:.…)\]]))");
  static const Pattern repeated(R"((?<=([،؛؟!:.…]))\1|(?<=…)\.)");
  static const Pattern after_opening(R"((?<=[(\[]) )");
  static const Pattern after_mark(
      R"((?<=[،؛؟!:…])(?=\p{L})|(?<=[\p{Arabic}&&\p{L}]\.)(?=[\p{Arabic}&&\p{L}]))");
  text = dots.replace(text, UnicodeString(u"…"));
  text = before.replace(text, UnicodeString());
  text = repeated.replace(text, UnicodeString());
  text = after_opening.replace(text, UnicodeString());
  return after_mark.replace(text, UnicodeString(u" "));
}

// One half-space where there are several, and none that does not stand between letters.
UnicodeString clean_half_spaces(const UnicodeString& text) {
  UnicodeString out;
  for (std::int32_t at = 0; at < text.length();) {
    const UChar32 c = text.char32At(at);
    at += U16_LENGTH(c);
    if (c != kZwnj) {
      out.append(c);
      continue;
    }
    while (at < text.length() && text.charAt(at) == kZwnj) ++at;
    const bool letter_before = !out.isEmpty() && is_letter(out.char32At(out.length() - 1));
    if (letter_before && at < text.length() && is_letter(text.char32At(at))) out.append(kZwnj);
  }
  return out;
}

UnicodeString join_affixes(UnicodeString text) {
  static const Pattern prefix("(?<![{W}\u200C])(ن?می) (?=\\p{L})");
  static const Pattern plural(
      "(?<=\\p{L}\\p{L}) "
      "(?=(?:ها|های|هایی|هایم|هایت|هایش|هایمان|هایتان|هایشان|تر|ترین)(?![{W}\u200C]))");
  // کـه, بـه, نـه and چـه end in heh too, but are words by themselves.
  static const Pattern verb(
      "(?<=\\p{L}ه)(?<!(?<![{W}\u200C])[کبنچ]ه) (?=(?:ام|ای|اند|ایم|اید)(?![{W}\u200C]))");
  const UnicodeString half_space(kZwnj);
  text = prefix.replace(text, UnicodeString(u"$1").append(kZwnj));
  text = plural.replace(text, half_space);
  return verb.replace(text, half_space);
}

// One form for each letter and digit, no vowel signs, no quotation marks, lower case.
UnicodeString normalise_persian(const UnicodeString& text) {
  const UnicodeString composed = without_presentation_forms(text);
  UnicodeString out;
  for (std::int32_t at = 0; at < composed.length();) {
    UChar32 c = composed.char32At(at);
    at += U16_LENGTH(c);
    const bool with_hamza = c == kHeh && composed.charAt(at) == kHamzaAbove;
    if (c == 0x06C0 || with_hamza) {
      out.append(kHeh).append(kZwnj).append(kYeh);
      continue;
    }
    if (is_deleted(c) || (c <= 0xFFFF && kPersianQuotes.find(static_cast<char16_t>(c)) !=
                                             std::u16string_view::npos)) {
      continue;
    }
    out.append(plain_letter(c));
  }
  return out.toLower(icu::Locale::getRoot());
}

}  // namespace

std::string clean_persian(std::string_view utf8) {
  UnicodeString text = normalise_persian(to_unicode(utf8));
  text = to_unicode(collapse_spaces(to_utf8(text)));
  text = expand_abbreviations(text);
  text = expand_persian_numbers(text);
  text = space_punctuation(to_unicode(collapse_spaces(expand_symbols(to_utf8(text)))));
  text = clean_half_spaces(text);
  text = join_affixes(to_unicode(collapse_spaces(to_utf8(text))));
  return to_utf8(text);
}

}  // namespace myxtts
