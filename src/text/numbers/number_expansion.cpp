// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include <unicode/utf8.h>

#include "text/numbers/numbers.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

std::optional<std::size_t> skip_digit(std::string_view text, std::size_t at) {
  const char32_t c = code_point_at(text, at);
  if (c == kNoCodePoint || !is_digit(c)) return std::nullopt;
  return at + static_cast<std::size_t>(U8_LENGTH(c));
}

bool word_at(std::string_view text, std::size_t at) {
  const char32_t c = code_point_at(text, at);
  return c != kNoCodePoint && is_word(c);
}

std::optional<std::size_t> skip_group(std::string_view text, Grouping grouping, std::size_t at) {
  const char32_t mark = code_point_at(text, at);
  if (mark == kNoCodePoint || mark == '\n') return std::nullopt;
  if (grouping == Grouping::Comma && mark != ',') return std::nullopt;
  std::optional<std::size_t> end = at + static_cast<std::size_t>(U8_LENGTH(mark));
  for (int digit = 0; digit < 3 && end; ++digit) end = skip_digit(text, *end);
  return end;
}

std::optional<std::size_t> match_tail(std::string_view text, Grouping grouping, std::size_t at) {
  const char mark = grouping == Grouping::Comma ? '.' : ',';
  if (at < text.size() && text[at] == mark) {
    std::size_t end = at + 1;
    while (const auto next = skip_digit(text, end)) end = *next;
    if (end > at + 1 && !word_at(text, end)) return end;
  }
  return word_at(text, at) ? std::nullopt : std::optional(at);
}

// The longest chain of groups is preferred; the last place in it where the number may end counts.
std::optional<std::size_t> match_groups(std::string_view text, Grouping grouping, std::size_t at) {
  std::optional<std::size_t> best = match_tail(text, grouping, at);
  while (const auto next = skip_group(text, grouping, at)) {
    at = *next;
    if (const auto end = match_tail(text, grouping, at)) best = end;
  }
  return best;
}

// The end of what the expression  B \d{1,3} (?: M \d{3})* (?: T \d+)? B  matches at `start`, where
// a word boundary and a digit are; M is the group mark and T the decimal mark. The choices are
// those that a backtracking matcher makes.
//
// Linear: a chain of groups that passes a character outside words has a boundary there and so
// matches at least up to it. What was read in vain lies in one word, and a word is entered only at
// its start.
std::optional<std::size_t> match_grouped(std::string_view text, Grouping grouping,
                                         std::size_t start) {
  std::optional<std::size_t> ends[3];  // after one, two and three digits
  std::size_t at = start;
  for (auto& end : ends) {
    const auto next = skip_digit(text, at);
    if (!next) break;
    end = at = *next;
  }
  for (std::size_t count = 3; count > 0; --count) {
    if (!ends[count - 1]) continue;
    if (const auto end = match_groups(text, grouping, *ends[count - 1])) return end;
  }
  return std::nullopt;
}

void append_without(std::string& out, std::string_view text, char deleted) {
  for (const char c : text) {
    if (c != deleted) out += c;
  }
}

}  // namespace

std::string remove_grouping(std::string text, Grouping grouping) {
  const char deleted = grouping == Grouping::Comma ? ',' : '.';
  if (text.find(deleted) == std::string::npos) return text;
  std::string out;
  std::size_t copied = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    const auto end = !in_word && is_digit(c) ? match_grouped(text, grouping, at) : std::nullopt;
    if (end) {
      out.append(text, copied, at - copied);
      append_without(out, std::string_view(text).substr(at, *end - at), deleted);
      at = copied = *end;
      in_word = true;
      continue;
    }
    in_word = is_word(c);
    at += static_cast<std::size_t>(U8_LENGTH(c));
  }
  return out.append(text, copied, std::string::npos);
}

namespace {

bool is_amount_character(char c) {
  return is_ascii_digit(c) || c == '.' || c == ',';
}

// Signs in the order coqui-tts tries them.
using Sign = std::pair<Currency, std::string_view>;
constexpr Sign kCurrencySigns[] = {
    {Currency::Gbp, "£"}, {Currency::Usd, "$"}, {Currency::Eur, "€"}};

// What makes an ordinal of the digits before it; the first that fits counts.
struct Suffix {
  std::string_view text;
  bool before_blank_or_end = false;
};
constexpr Suffix kEnglishSuffixes[] = {{"st"}, {"nd"}, {"rd"}, {"th"}};
constexpr Suffix kSpanishSuffixes[] = {{"º"}, {"ª"}, {"er"}, {"o"}, {"a"}};
constexpr Suffix kFrenchSuffixes[] = {{"º"}, {"ª"}, {"er"}, {"re"}, {"e"}, {"ème"}};
constexpr Suffix kGermanSuffixes[] = {{"st"}, {"nd"}, {"rd"}, {"th"}, {"º"}, {"ª"}, {".", true}};
constexpr Suffix kPortugueseSuffixes[] = {{"º"}, {"ª"}, {"o"}, {"a"}};
constexpr Suffix kItalianSuffixes[] = {{"º"}, {"°"}, {"ª"}, {"o"}, {"a"}, {"i"}, {"e"}};
constexpr Suffix kPolishSuffixes[] = {{"º"}, {"ª"}, {"st"}, {"nd"}, {"rd"}, {"th"}};
constexpr Suffix kArabicSuffixes[] = {{"ون"}, {"ين"}, {"ث"}, {"ر"}, {"ى"}};
constexpr Suffix kCzechSuffixes[] = {{".", true}};
constexpr Suffix kRussianSuffixes[] = {{"-й"}, {"-я"}, {"-е"}, {"-ое"}, {"-ье"}, {"-го"}};
constexpr Suffix kDutchSuffixes[] = {{"de"}, {"ste"}, {"e"}};
constexpr Suffix kTurkishSuffixes[] = {{"."}, {"inci"}, {"nci"}, {"uncu"}, {"üncü"}};
constexpr Suffix kHungarianSuffixes[] = {{"."},    {"adik"},  {"edik"}, {"odik"},
                                         {"ödik"}, {"ödike"}, {"ik"}};
constexpr Suffix kKoreanSuffixes[] = {{"번째"}, {"번"}, {"차"}, {"째"}};
constexpr Suffix kHindiSuffixes[] = {{"st"}, {"nd"}, {"rd"}, {"th"}, {"वाँ"}, {"वां"}};

std::span<const Suffix> suffixes(Language language) {
  static constexpr std::pair<Language, std::span<const Suffix>> kSuffixes[] = {
      {Language::En, kEnglishSuffixes},   {Language::Es, kSpanishSuffixes},
      {Language::Fr, kFrenchSuffixes},    {Language::De, kGermanSuffixes},
      {Language::It, kItalianSuffixes},   {Language::Pt, kPortugueseSuffixes},
      {Language::Pl, kPolishSuffixes},    {Language::Tr, kTurkishSuffixes},
      {Language::Ru, kRussianSuffixes},   {Language::Nl, kDutchSuffixes},
      {Language::Cs, kCzechSuffixes},     {Language::Ar, kArabicSuffixes},
      {Language::Hu, kHungarianSuffixes}, {Language::Ko, kKoreanSuffixes},
      {Language::Hi, kHindiSuffixes}};
  const auto* const found = find_language(kSuffixes, language);
  return found != nullptr ? *found : std::span<const Suffix>();
}

std::size_t end_of_amount(std::string_view text, std::size_t at) {
  while (at < text.size() && is_amount_character(text[at])) ++at;
  return at;
}

// Where the next "£12.50" or "12.50£" at or after `at` begins and ends.
using Found = std::pair<std::size_t, std::size_t>;
std::optional<Found> find_amount(std::string_view text, std::string_view sign, std::size_t at) {
  while (at < text.size()) {
    if (is_amount_character(text[at])) {
      const std::size_t end = end_of_amount(text, at);
      if (is_ascii_digit(text[end - 1]) && text.substr(end).starts_with(sign)) {
        return Found{at, end + sign.size()};
      }
      at = end;
    } else if (text.substr(at).starts_with(sign)) {
      std::size_t end = end_of_amount(text, at + sign.size());
      while (end > at + sign.size() && !is_ascii_digit(text[end - 1])) --end;
      if (end > at + sign.size()) return Found{at, end};
      at += sign.size();
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

// Nothing if the currency or the amount cannot be said. An amount too large for words stays as it
// is.
std::optional<std::string> amount_in_words(std::string_view text, Currency currency,
                                           const NumberWords& words) {
  std::string digits;
  for (const char c : text) {
    if (is_amount_character(c)) digits += c == ',' ? '.' : c;
  }
  if (std::ranges::count(digits, '.') > 1) return std::nullopt;
  const auto exact = read_decimal(digits);
  return exact ? words.say_amount(to_amount(*exact), currency) : std::string(text);
}

// Nothing if one of the amounts cannot be said: then all stay as they are.
std::optional<std::string> expand_one_currency(std::string_view text, const Sign& money,
                                               const NumberWords& words) {
  const auto& [currency, sign] = money;
  std::string out;
  std::size_t copied = 0;
  while (const auto found = find_amount(text, sign, copied)) {
    const auto [start, end] = *found;
    const auto said = amount_in_words(text.substr(start, end - start), currency, words);
    if (!said) return std::nullopt;
    out.append(text, copied, start - copied).append(*said);
    copied = end;
  }
  return out.append(text, copied);
}

// Calls `expand` with the start and the end of each run of digits; it returns how far it has read
// and appends what stands for that, or says no.
template <typename Expand>
std::string expand_runs(std::string_view text, const Expand& expand) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_ascii_digit(text[at])) {
      ++at;
      continue;
    }
    const std::size_t end = end_of_digits(text, at);
    std::string words;
    if (const std::optional<std::size_t> read = expand(at, end, words)) {
      out.append(text, copied, at - copied).append(words);
      at = copied = *read;
    } else {
      at = end;
    }
  }
  return out.append(text, copied);
}

bool fits(std::string_view text, std::size_t at, const Suffix& suffix) {
  if (!text.substr(at).starts_with(suffix.text)) return false;
  if (!suffix.before_blank_or_end) return true;
  const char32_t next = code_point_at(text, at + suffix.text.size());
  return next == kNoCodePoint || is_space(next);
}

}  // namespace

bool has_ascii_digit(std::string_view text) {
  return std::ranges::any_of(text, is_ascii_digit);
}

std::size_t end_of_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_ascii_digit(text[at])) ++at;
  return at;
}

std::string expand_amounts(std::string text, const NumberWords& words) {
  if (!words.says_amounts()) return text;
  for (const Sign& sign : kCurrencySigns) {
    if (text.find(sign.second) == std::string::npos) continue;
    auto expanded = expand_one_currency(text, sign, words);
    if (!expanded) return text;
    text = std::move(*expanded);
  }
  return text;
}

std::string expand_decimals(std::string text, const NumberWords& words) {
  if (!words.says_decimals()) return text;
  return expand_runs(text, [&](std::size_t at, std::size_t end, std::string& out) {
    const bool mark = end < text.size() && (text[end] == '.' || text[end] == ',');
    const std::size_t last = mark ? end_of_digits(text, end + 1) : end;
    if (!mark || last == end + 1) return std::optional<std::size_t>();
    std::string number = text.substr(at, last - at);
    number[end - at] = '.';
    if (const auto decimal = read_decimal(number)) {
      out = words.say_decimal(*decimal);
    } else {
      out = spell_integer(std::string_view(text).substr(at, end - at), words.cardinal);
      out.append(text, end, 1);
      out += spell_digits(std::string_view(text).substr(end + 1, last - end - 1), words.cardinal);
    }
    return std::optional(last);
  });
}

std::string expand_ordinals(std::string text, Language language, const NumberWords& words) {
  const std::span<const Suffix> known = suffixes(language);
  return expand_runs(text, [&](std::size_t at, std::size_t end, std::string& out) {
    const auto suffix =
        std::ranges::find_if(known, [&](const Suffix& one) { return fits(text, end, one); });
    if (suffix == known.end()) return std::optional<std::size_t>();
    const std::size_t last = end + suffix->text.size();
    // coqui-tts fails on every Czech ordinal. At the end of a text the dot is more likely a full
    // stop.
    if (language == Language::Cs && last == text.size()) return std::optional<std::size_t>();
    const std::string_view digits = std::string_view(text).substr(at, end - at);
    const std::size_t first = digits.find_first_not_of('0');
    const bool too_large = first != std::string_view::npos && digits.size() - first > 15;
    out =
        too_large
            ? spell_integer(digits, words.cardinal)
            : words.ordinal(first == std::string_view::npos ? 0 : to_integer(digits.substr(first)));
    return std::optional(last);
  });
}

std::string expand_cardinals(std::string text, const NumberWords& words) {
  return expand_runs(text, [&](std::size_t at, std::size_t end, std::string& out) {
    out = spell_integer(std::string_view(text).substr(at, end - at), words.cardinal);
    return std::optional(end);
  });
}

std::string expand_numbers(std::string text, Language language) {
  const NumberWords& words = number_words(language);
  const bool digits = has_ascii_digit(text);
  if (language == Language::Hi && digits) {
    text = expand_hindi_money(std::move(text));
  } else {
    const bool comma = language == Language::En || language == Language::Ru;
    text = remove_grouping(std::move(text), comma ? Grouping::Comma : Grouping::Dot);
  }
  if (!digits) return text;
  text = expand_amounts(std::move(text), words);
  text = expand_decimals(std::move(text), words);
  text = expand_ordinals(std::move(text), language, words);
  return expand_cardinals(std::move(text), words);
}

}  // namespace myxtts
