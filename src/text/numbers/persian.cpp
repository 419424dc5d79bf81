// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"
#include "text/persian.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::string_view kPersian = R"(
cardinal:
0: صفر; یک; دو; سه; چهار; پنج; شش; هفت; هشت; نه; ده
11: یازده; دوازده; سیزده; چهارده; پانزده; شانزده; هفده; هجده; نوزده
20+10: بیست[ و >>]; سی[ و >>]; چهل[ و >>]; پنجاه[ و >>]; شصت[ و >>]; هفتاد[ و >>]; هشتاد[ و >>]
90: نود[ و >>]
100+100: صد[ و >>]; دویست[ و >>]; سیصد[ و >>]; چهارصد[ و >>]; پانصد[ و >>]; ششصد[ و >>]
700+100: هفتصد[ و >>]; هشتصد[ و >>]; نهصد[ و >>]
1000: هزار[ و >>]
2000: << هزار[ و >>]
1000000: << میلیون[ و >>]
1000000000: << میلیارد[ و >>]
1000000000000: << تریلیون[ و >>]
)";

using Months = std::array<std::string_view, 12>;
constexpr Months kSolarMonths{"فروردین", "اردیبهشت", "خرداد", "تیر", "مرداد", "شهریور",
                              "مهر",     "آبان",     "آذر",   "دی",  "بهمن",  "اسفند"};
constexpr Months kGregorianMonths{"ژانویه", "فوریه", "مارس",    "آوریل", "مه",     "ژوئن",
                                  "ژوئیه",  "اوت",   "سپتامبر", "اکتبر", "نوامبر", "دسامبر"};

constexpr std::array<CurrencyWords, 3> kPersianMoney{
    {{"$", "دلار", "سنت"}, {"€", "یورو", "سنت"}, {"£", "پوند", "پنی"}}};

constexpr std::array<std::string_view, 4> kFractionNames{"", "دهم", "صدم", "هزارم"};
constexpr std::string_view kHalfSpace = "\u200C";

// Every repetition in the expressions below is bounded: the matcher of ICU keeps a stack for each,
// which a line of a million digits would overflow. A longer run of digits is left to
// expand_integers().
using icu::RegexMatcher;
using icu::UnicodeString;

std::string group(const RegexMatcher& match, int number) {
  UErrorCode status = U_ZERO_ERROR;
  return to_utf8(match.group(number, status));
}

UnicodeString whole(const RegexMatcher& match) {
  UErrorCode status = U_ZERO_ERROR;
  return match.group(status);
}

// Digits as one number; one by one if they start with a zero, as in telephone numbers, or are many.
std::string say_integer(const std::string& digits) {
  const bool one_by_one = digits.size() > 15 || (digits.size() > 1 && digits.front() == '0');
  return one_by_one ? spell_digits(digits, persian_cardinal) : persian_cardinal(to_integer(digits));
}

// Two ممیز seventy-five hundredths; only the whole part if the fraction is zero.
std::string say_decimal(const std::string& integer, const std::string& fraction) {
  const std::string words = say_integer(integer);
  if (fraction.find_first_not_of('0') == std::string::npos) return words;
  if (fraction.size() >= kFractionNames.size()) {
    return fmt::format("{} ممیز {}", words, spell_digits(fraction, persian_cardinal));
  }
  return fmt::format("{} ممیز {} {}", words, persian_cardinal(to_integer(fraction)),
                     kFractionNames[fraction.size()]);
}

UnicodeString join_groups(const UnicodeString& text) {
  static const Pattern pattern(
      R"((?<![0-9])(?<![0-9][,.])[0-9]{1,3}(?:,[0-9]{3}){1,10}(?![0-9]|,[0-9]))");
  return pattern.replace(
      text, [](const RegexMatcher& match) { return whole(match).findAndReplace(u",", u""); });
}

std::optional<std::string> say_date(std::uint64_t year, std::uint64_t month, std::uint64_t day) {
  const bool solar = year >= 1200 && year <= 1599;
  const bool gregorian = year >= 1600 && year <= 2399;
  if (!solar && !gregorian) return std::nullopt;
  if (month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  const Months& months = solar ? kSolarMonths : kGregorianMonths;
  return fmt::format("{} {} {}", persian_ordinal(day), months[month - 1], persian_cardinal(year));
}

UnicodeString expand_dates(const UnicodeString& text) {
  static const Pattern year_first(
      R"((?<![0-9])(?<![0-9][/.-])([0-9]{4})([/-])([0-9]{1,2})\2([0-9]{1,2})(?![0-9]|[/.-][0-9]))");
  static const Pattern day_first(
      R"((?<![0-9])(?<![0-9][/.-])([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})(?![0-9]|[/.-][0-9]))");
  const auto said = [](const RegexMatcher& match, int year, int month, int day) {  // their groups
    const auto words = say_date(to_integer(group(match, year)), to_integer(group(match, month)),
                                to_integer(group(match, day)));
    return words ? to_unicode(*words) : whole(match);
  };
  const UnicodeString half =
      year_first.replace(text, [&](const RegexMatcher& match) { return said(match, 1, 3, 4); });
  return day_first.replace(half, [&](const RegexMatcher& match) { return said(match, 3, 2, 1); });
}

UnicodeString expand_times(const UnicodeString& text) {
  static const Pattern pattern(
      R"((?<![0-9])(?<![0-9][:.])([0-9]{1,2}):([0-5][0-9])(?::([0-5][0-9]))?(?![0-9]|[:][0-9]))");
  return pattern.replace(text, [](const RegexMatcher& match) {
    const std::uint64_t hour = to_integer(group(match, 1));
    if (hour > 24) return whole(match);
    std::string words = persian_cardinal(hour);
    const std::uint64_t minute = to_integer(group(match, 2));
    const std::uint64_t second = to_integer(group(match, 3));
    if (minute != 0) words += fmt::format(" و {} دقیقه", persian_cardinal(minute));
    if (second != 0) words += fmt::format(" و {} ثانیه", persian_cardinal(second));
    return to_unicode(words);
  });
}

// A whole sum keeps its digits, so that ranges and signs are still seen.
std::string say_money(const std::string& number, const CurrencyWords& money) {
  const auto exact = read_decimal(number);
  if (!exact || exact->integral()) {
    return fmt::format("{} {}", number.substr(0, number.find('.')), money.unit);
  }
  const Amount amount = to_amount(*exact);
  const std::string cents = fmt::format("{} {}", persian_cardinal(amount.cents), money.cent);
  const std::string units = fmt::format("{} {}", persian_cardinal(amount.units), money.unit);
  if (amount.cents == 0) return units;
  return amount.units == 0 ? cents : fmt::format("{} و {}", units, cents);
}

UnicodeString expand_money(const UnicodeString& text) {
  static const Pattern pattern(
      R"(([$€£]) ?([0-9]{1,40}+(?:\.[0-9]{1,40}+)?)|(?<![0-9])(?<![0-9]\.)([0-9]{1,40}+(?:\.[0-9]{1,40}+)?) ?([$€£]))");
  return pattern.replace(text, [](const RegexMatcher& match) {
    UErrorCode status = U_ZERO_ERROR;
    const bool in_front = match.start(1, status) >= 0;
    const std::string sign = group(match, in_front ? 1 : 4);
    for (const CurrencyWords& money : kPersianMoney) {
      if (money.sign == sign) {
        return to_unicode(" " + say_money(group(match, in_front ? 2 : 3), money) + " ");
      }
    }
    return whole(match);
  });
}

UnicodeString expand_percent(const UnicodeString& text) {
  static const Pattern pattern(
      R"((?<![0-9])(?<![0-9]\.)([0-9]{1,40}+(?:\.[0-9]{1,40}+)?) ?%|% ?([0-9]{1,40}+(?:\.[0-9]{1,40}+)?))");
  return pattern.replace(text, [](const RegexMatcher& match) {
    return to_unicode(group(match, 1) + group(match, 2) + " درصد ");
  });
}

UnicodeString expand_ordinals(const UnicodeString& text) {
  static const Pattern pattern(
      "(?<![0-9.])([0-9]{1,15}+)[ \u200C]?(م|ام|مین|امین)(?![\\p{L}\\p{N}\u200C])");
  return pattern.replace(text, [](const RegexMatcher& match) {
    const bool with_in = group(match, 2).ends_with("ین");
    return to_unicode(persian_ordinal(to_integer(group(match, 1))) + (with_in ? "ین" : ""));
  });
}

// Three quarters, or the slash that Persian writes for a decimal point.
UnicodeString expand_slashes(const UnicodeString& text) {
  static const Pattern pattern(
      R"((?<![0-9])(?<![0-9][/.])([0-9]{1,40}+)/([0-9]{1,40}+)(?![/.][0-9]))");
  return pattern.replace(text, [](const RegexMatcher& match) {
    const std::string over = group(match, 1);
    const std::string under = group(match, 2);
    const bool small = over.size() == 1 && under.size() <= 2 && under.front() != '0';
    const std::uint64_t parts = small ? to_integer(under) : 0;
    const std::uint64_t count = small ? to_integer(over) : 0;
    if (count == 0 || count >= parts || parts > 10) return to_unicode(over + "." + under);
    return to_unicode(persian_cardinal(count) + " " + persian_ordinal(parts));
  });
}

// Not in chains and not beside a leading zero: those are telephone numbers and codes.
UnicodeString expand_ranges(const UnicodeString& text) {
  static const Pattern pattern(
      R"((?<![0-9.])(?<![0-9][–—-])((?:0|[1-9][0-9]{0,39}+)(?:\.[0-9]{1,40}+)?)[–—-](?=(?:0(?![0-9])|[1-9])))"
      R"((?=[0-9]{1,40}+(?:\.[0-9]{1,40}+)?+(?![–—-][0-9])))");
  return pattern.replace(text, u"$1 تا ");
}

// Groups joined by hyphens, the first with a leading zero: every digit by itself.
UnicodeString expand_telephones(const UnicodeString& text) {
  static const Pattern pattern(
      R"((?<![0-9])(?<![0-9][–-])0[0-9]{1,40}+(?:[–-][0-9]{1,40}+){1,6}+)");
  return pattern.replace(text, [](const RegexMatcher& match) {
    std::string digits;
    for (const char c : to_utf8(whole(match))) {
      if (c >= '0' && c <= '9') digits += c;
    }
    return to_unicode(spell_digits(digits, persian_cardinal));
  });
}

UnicodeString expand_signs(const UnicodeString& text) {
  static const Pattern pattern(R"((?<!{W})-(?=[0-9]))");
  return pattern.replace(text, UnicodeString(u"منفی "));
}

UnicodeString expand_decimals(const UnicodeString& text) {
  static const Pattern pattern(
      R"((?<![0-9])(?<![0-9]\.)([0-9]{1,40}+)\.([0-9]{1,40}+)(?!\.[0-9]))");
  return pattern.replace(text, [](const RegexMatcher& match) {
    return to_unicode(say_decimal(group(match, 1), group(match, 2)));
  });
}

// By hand: a run of digits may be of any length.
UnicodeString expand_integers(const UnicodeString& text) {
  const std::string utf8 = to_utf8(text);
  std::string out;
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t end = end_of_digits(utf8, at);
    if (end > at) {
      out += say_integer(utf8.substr(at, end - at));
      at = end;
    } else {
      out += utf8[at++];
    }
  }
  return to_unicode(out);
}

// Words must not run into the letters around a number: 5kg is read "five kg".
UnicodeString separate_letters(const UnicodeString& text) {
  static const Pattern pattern(R"((?<=\p{L})(?=[0-9])|(?<=[0-9])(?=\p{L}))");
  return pattern.replace(text, UnicodeString(u" "));
}

}  // namespace

std::string persian_cardinal(std::uint64_t number) {
  static const SpellRules rules(kPersian);
  return rules.spell(number);
}

std::string persian_ordinal(std::uint64_t number) {
  constexpr std::string_view kThree = "سه";
  std::string words = persian_cardinal(number);
  if (words.ends_with(kThree))
    return words.replace(words.size() - kThree.size(), kThree.size(), "سوم");
  if (words.ends_with("ی")) return words.append(kHalfSpace).append("ام");
  return words.append("م");
}

UnicodeString expand_persian_numbers(UnicodeString text) {
  if (!has_ascii_digit(to_utf8(text))) return text;
  text = join_groups(text);
  text = separate_letters(text);
  text = expand_dates(text);
  text = expand_times(text);
  text = expand_money(text);
  text = expand_percent(text);
  text = expand_ordinals(text);
  text = expand_slashes(text);
  text = expand_telephones(text);
  text = expand_ranges(text);
  text = expand_signs(text);
  text = expand_decimals(text);
  return expand_integers(text);
}

}  // namespace myxtts
