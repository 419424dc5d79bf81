// SPDX-License-Identifier: Apache-2.0
// Turkish and Hungarian.
#include <array>
#include <utility>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"

namespace myxtts {
namespace {

// Turkish
// -------------------------------------------------------------------------------------------

constexpr std::string_view kTurkish = R"(
group:
0: ; bir; iki; üç; dört; beş; altı; yedi; sekiz; dokuz
10+10: on[>>]; yirmi[>>]; otuz[>>]; kırk[>>]; elli[>>]; altmış[>>]; yetmiş[>>]; seksen[>>]
90: doksan[>>]
100: yüz[>>]
200: <<yüz[>>]
)";

constexpr std::array<std::string_view, 5> kTurkishLarge{"", "bin", "milyon", "milyar", "trilyon"};

// Longer endings first: milyon ends in on.
constexpr Ending kTurkishOrdinals[] = {
    {"trilyon", "trilyonuncu"}, {"milyon", "milyonuncu"}, {"milyar", "milyarıncı"},
    {"bir", "birinci"},         {"iki", "ikinci"},        {"üç", "üçüncü"},
    {"dört", "dördüncü"},       {"beş", "beşinci"},       {"altı", "altıncı"},
    {"yedi", "yedinci"},        {"sekiz", "sekizinci"},   {"dokuz", "dokuzuncu"},
    {"yirmi", "yirminci"},      {"otuz", "otuzuncu"},     {"kırk", "kırkıncı"},
    {"elli", "ellinci"},        {"altmış", "altmışıncı"}, {"yetmiş", "yetmişinci"},
    {"seksen", "sekseninci"},   {"doksan", "doksanıncı"}, {"yüz", "yüzüncü"},
    {"bin", "bininci"},         {"on", "onuncu"}};

// What coqui-tts leaves unsaid: the one of 141,200, and in large numbers the digit of a group
// between others, 5,003,000,001 being "beş milyar milyon bir". Of these its ordinals leave out only
// a one.
bool loses_digit(std::uint64_t number, std::uint64_t unit, bool in_ordinal) {
  const std::uint64_t group = number / unit % 1000;
  const bool last = number % unit == 0;
  if (number >= 100'000 && number < 1'000'000) return unit == 1000 && group % 10 == 1 && !last;
  const bool between = number / unit >= 1000 && !last;
  const bool large = number >= 1'000'000'000 && unit >= 1'000'000;
  return large && between && group < (in_ordinal ? 2 : 10);
}

std::string turkish_words(std::uint64_t number, bool in_ordinal) {
  static const SpellRules rules(kTurkish);
  std::string words;
  std::uint64_t unit = 1'000'000'000'000;
  for (std::size_t level = kTurkishLarge.size(); level-- > 0; unit /= 1000) {
    std::uint64_t group = number / unit % 1000;
    if (group == 0) continue;
    if (level > 0 && loses_digit(number, unit, in_ordinal)) group -= group % 10;
    const bool just_bin = level == 1 && group == 1;
    if (!just_bin) words += rules.spell(group);
    words += kTurkishLarge[level];
  }
  return words;
}

std::string turkish_cardinal(std::uint64_t number) {
  return number == 0 ? "sıfır" : turkish_words(number, false);
}

std::string turkish_ordinal(std::uint64_t number) {
  if (number == 0) return "sıfırıncı";
  std::string words = turkish_words(number, true);
  replace_ending(words, kTurkishOrdinals);
  return words;
}

// Hungarian
// -----------------------------------------------------------------------------------------

// "joined" is the form inside a larger number: két, not kettő.
constexpr std::string_view kHungarian = R"(
cardinal:
0: nulla; egy; kettő
3: =joined=
joined:
0: ; egy; két; három; négy; öt; hat; hét; nyolc; kilenc; tíz
11: tizen>unit>
20: húsz
21: huszon>unit>
30+10: harminc[>unit>]; negyven[>unit>]; ötven[>unit>]; hatvan[>unit>]; hetven[>unit>]
80+10: nyolcvan[>unit>]; kilencven[>unit>]
100: száz[>>]
200: <<száz[>>]
1000: ezer[>>]
2000: <<ezer[->>]
1000000: <<millió[->>]
1000000000: <<milliárd[->>]
1000000000000: <<billió[->>]
unit:
0: ; egy; kettő; három; négy; öt; hat; hét; nyolc; kilenc
)";

// coqui-tts' millionth has an m too many, "egymmilliomodik"; the ending it looks for is "illió".
constexpr Ending kHungarianOrdinals[] = {{"nulla", "nullad"},
                                         {"egy", "egyed"},
                                         {"kettő", "ketted"},
                                         {"három", "harmad"},
                                         {"négy", "negyed"},
                                         {"öt", "ötöd"},
                                         {"hat", "hatod"},
                                         {"hét", "heted"},
                                         {"nyolc", "nyolcad"},
                                         {"kilenc", "kilenced"},
                                         {"tíz", "tized"},
                                         {"húsz", "huszad"},
                                         {"harminc", "harmincad"},
                                         {"negyven", "negyvened"},
                                         {"ötven", "ötvened"},
                                         {"hatvan", "hatvanad"},
                                         {"hetven", "hetvened"},
                                         {"nyolcvan", "nyolcvanad"},
                                         {"kilencven", "kilencvened"},
                                         {"száz", "század"},
                                         {"ezer", "ezred"},
                                         {"illió", "milliomod"},
                                         {"illiárd", "milliárdod"}};

constexpr std::array<std::string_view, 4> kHungarianFractions{"", "tized", "század", "ezred"};

// coqui-tts names currencies in English here.
constexpr MoneyTable kHungarianMoney{
    .separator = ",",
    .gbp = {{"pound sterling", "", "pounds sterling"}, {"penny", "", "pence"}},
    .usd = {{"dollar", "", "dollars"}, {"cent", "", "cents"}},
    .eur = {{"euro", "", "euro"}, {"cent", "", "cents"}}};

constexpr auto hungarian_cardinal = spell_by<kHungarian>;

std::string hungarian_ordinal(std::uint64_t number) {
  if (number == 1) return "első";
  if (number == 2) return "második";
  std::string words = hungarian_cardinal(number);
  replace_ending(words, kHungarianOrdinals);
  return words + "ik";
}

std::string hungarian_decimal(const Decimal& number) {
  std::string words = hungarian_cardinal(number.whole);
  if (number.integral()) return words;
  words += " egész ";
  const std::size_t places = number.fraction.size();
  if (places >= kHungarianFractions.size()) {
    return words + spell_digits(number.fraction, hungarian_cardinal);
  }
  return words + hungarian_cardinal(to_integer(number.fraction)) + " " +
         std::string(kHungarianFractions[places]);
}

}  // namespace

constinit const NumberWords kTurkishNumbers{.cardinal = turkish_cardinal,
                                            .ordinal = turkish_ordinal};
constinit const NumberWords kHungarianNumbers{.cardinal = hungarian_cardinal,
                                              .ordinal = hungarian_ordinal,
                                              .decimal = hungarian_decimal,
                                              .money = &kHungarianMoney};

}  // namespace myxtts
