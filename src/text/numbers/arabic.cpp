// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "text/numbers/numbers.h"

namespace myxtts {
namespace {

using Units = std::array<std::string_view, 20>;

constexpr Units kMasculine{"",         "واحد",    "اثنان",    "ثلاثة",      "أربعة",
                           "خمسة",     "ستة",     "سبعة",     "ثمانية",     "تسعة",
                           "عشرة",     "أحد عشر", "اثنا عشر", "ثلاثة عشر",  "أربعة عشر",
                           "خمسة عشر", "ستة عشر", "سبعة عشر", "ثمانية عشر", "تسعة عشر"};
constexpr Units kFeminine{"",         "إحدى",      "اثنتان",     "ثلاث",       "أربع",
                          "خمس",      "ست",        "سبع",        "ثمان",       "تسع",
                          "عشر",      "إحدى عشرة", "اثنتا عشرة", "ثلاث عشرة",  "أربع عشرة",
                          "خمس عشرة", "ست عشرة",   "سبع عشرة",   "ثماني عشرة", "تسع عشرة"};
constexpr Units kArabicOrdinals{"",         "اول",      "ثاني",     "ثالث",     "رابع",
                                "خامس",     "سادس",     "سابع",     "ثامن",     "تاسع",
                                "عاشر",     "حادي عشر", "ثاني عشر", "ثالث عشر", "رابع عشر",
                                "خامس عشر", "سادس عشر", "سابع عشر", "ثامن عشر", "تاسع عشر"};
constexpr std::array<std::string_view, 10> kArabicTens{"",      "",     "عشرون", "ثلاثون", "أربعون",
                                                       "خمسون", "ستون", "سبعون", "ثمانون", "تسعون"};
constexpr std::array<std::string_view, 10> kHundreds{"",         "مائة",    "مئتان",  "ثلاثمائة",
                                                     "أربعمائة", "خمسمائة", "ستمائة", "سبعمائة",
                                                     "ثمانمائة", "تسعمائة"};
constexpr std::string_view kJustTwoHundred = "مئتا";

// The names of a thousand, a million and so on: one, two, two and nothing else in the number, three
// to ten, and more if something follows.
struct ArabicLarge {
  std::string_view one, two, just_two, few, followed;
};
constexpr std::array<ArabicLarge, 5> kArabicLarge{
    {{},
     {"ألف", "ألفان", "ألفا", "آلاف", "ألفاً"},
     {"مليون", "مليونان", "مليونا", "ملايين", "مليوناً"},
     {"مليار", "ملياران", "مليارا", "مليارات", "ملياراً"},
     {"تريليون", "تريليونان", "تريليونا", "تريليونات", "تريليوناً"}}};

// Money of any sign is riyals here, as with coqui-tts.
constexpr std::array<std::string_view, 4> kRiyal{"ريال", "ريالان", "ريالات", "ريالاً"};
constexpr std::array<std::string_view, 4> kHalala{"هللة", "هللتان", "هللات", "هللة"};

std::string tens_and_units(std::uint64_t number, const Units& units) {
  if (number < 20) return std::string(units[number]);
  if (number % 10 == 0) return std::string(kArabicTens[number / 10]);
  return fmt::format("{} و {}", units[number % 10], kArabicTens[number / 10]);
}

std::string group_words(std::uint64_t group, std::size_t level, bool just_two, const Units& units) {
  const std::uint64_t hundreds = group / 100;
  const std::uint64_t rest = group % 100;
  if (hundreds == 2 && rest == 0) return std::string(kJustTwoHundred);
  if (group == 2 && level > 0) {
    return std::string(just_two ? kArabicLarge[level].just_two : kArabicLarge[level].two);
  }
  std::string words(kHundreds[hundreds]);
  if (rest == 0) return words;
  if (hundreds > 0) words += " و ";
  return words + (rest == 1 && level > 0 ? std::string(kArabicLarge[level].one)
                                         : tens_and_units(rest, units));
}

std::string_view large_name(std::uint64_t group, const ArabicLarge& large, bool followed) {
  if (group % 100 == 1) return large.one;
  if (group >= 3 && group <= 10) return large.few;
  return followed ? large.followed : large.one;
}

// Empty for zero.
std::string integer_words(std::uint64_t number, const Units& units) {
  std::string words;
  std::uint64_t unit = 1;
  for (std::size_t level = 0; level < kArabicLarge.size(); ++level, unit *= 1000) {
    const std::uint64_t group = number / unit % 1000;
    if (group == 0) continue;
    const bool followed = !words.empty();
    std::string front = group_words(group, level, number == 2 * unit, units);
    if (level > 0 && group > 2)
      front.append(" ").append(large_name(group, kArabicLarge[level], followed));
    words = followed ? front + " و " + words : front;
  }
  return words;
}

std::string arabic_cardinal(std::uint64_t number) {
  return number == 0 ? "صفر" : integer_words(number, kMasculine);
}

std::string arabic_ordinal(std::uint64_t number) {
  if (number < kArabicOrdinals.size()) return std::string(kArabicOrdinals[number]);
  return integer_words(number, number < 100 ? kFeminine : kMasculine);
}

// The first two digits after the point; coqui-tts keeps nine of them before it looks.
std::string billionths(const Decimal& number) {
  const double whole = std::floor(number.value);
  std::string digits = fmt::format(
      "{:09}", static_cast<std::uint64_t>(std::nearbyint((number.value - whole) * 1e9)));
  digits.resize(digits.find_last_not_of('0') + 1);
  return digits;
}

std::uint64_t hundredths(std::string digits) {
  digits.resize(2, '0');
  return to_integer(digits);
}

std::string arabic_decimal(const Decimal& number) {
  const std::string digits = billionths(number);
  if (number.whole == 0 && digits.empty()) return arabic_cardinal(0);
  const std::string words = integer_words(number.whole, kMasculine);
  const std::uint64_t cents = hundredths(digits);
  if (cents == 0) return words;
  return fmt::format("{}{}, {}", words, words.empty() ? "" : "  ",
                     tens_and_units(cents, kFeminine));
}

std::string_view counted_noun(std::uint64_t count, const std::array<std::string_view, 4>& noun,
                              bool two_alone) {
  const std::uint64_t last = count % 100;
  if (last == 2 && (!two_alone || count == 2)) return noun[1];
  if (last < 3) return noun[0];
  return last <= 10 ? noun[2] : noun[3];
}

std::optional<std::string> arabic_amount(const Amount& amount, Currency /*currency*/) {
  const std::string digits = billionths(amount.exact);
  const std::uint64_t units = amount.exact.whole;
  if (units == 0 && digits.empty()) return arabic_cardinal(0);
  std::string words = integer_words(units, kMasculine);
  if (units != 0) words.append(" ").append(counted_noun(units, kRiyal, true));
  const std::uint64_t cents = hundredths(digits);
  if (cents != 0) {
    words += fmt::format(" و {} {}", tens_and_units(cents, kFeminine),
                         counted_noun(cents, kHalala, false));
  }
  return words;
}

}  // namespace

constinit const NumberWords kArabicNumbers{.cardinal = arabic_cardinal,
                                           .ordinal = arabic_ordinal,
                                           .decimal = arabic_decimal,
                                           .amount = arabic_amount};

}  // namespace myxtts
