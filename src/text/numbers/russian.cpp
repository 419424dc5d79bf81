// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <fmt/format.h>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"

namespace myxtts {
namespace {

// The tens and hundreds of several rule sets, which take the place of {0} in them.
constexpr std::string_view kRussianTens = R"(
20+10: двадцать[ >>]; тридцать[ >>]; сорок[ >>]; пятьдесят[ >>]; шестьдесят[ >>]; семьдесят[ >>]
80+10: восемьдесят[ >>]; девяносто[ >>]
100+100: сто[ >>]; двести[ >>]; триста[ >>]; четыреста[ >>]; пятьсот[ >>]; шестьсот[ >>]
700+100: семьсот[ >>]; восемьсот[ >>]; девятьсот[ >>]
)";
constexpr std::string_view kRussianCardinals = R"(
cardinal:
0: ноль; один; два; три; четыре; пять; шесть; семь; восемь; девять; десять; одиннадцать
12: двенадцать; тринадцать; четырнадцать; пятнадцать; шестнадцать; семнадцать; восемнадцать
19: девятнадцать
{0}
1000: <feminine< (тысяча|тысячи|тысяч)[ >>]
1000000: << (миллион|миллиона|миллионов)[ >>]
1000000000: << (миллиард|миллиарда|миллиардов)[ >>]
1000000000000: << (триллион|триллиона|триллионов)[ >>]
feminine:
0: =cardinal=; одна; две
3: =cardinal=
{0}
)";

constexpr std::string_view kRussianOrdinalTens = R"(
20+10: [двадцать >>|двадцатый]; [тридцать >>|тридцатый]; [сорок >>|сороковой]
50+10: [пятьдесят >>|пятидесятый]; [шестьдесят >>|шестидесятый]; [семьдесят >>|семидесятый]
80+10: [восемьдесят >>|восьмидесятый]; [девяносто >>|девяностый]
100+100: [сто >>|сотый]; [двести >>|двухсотый]; [триста >>|трёхсотый]; [четыреста >>|четырёхсотый]
500+100: [пятьсот >>|пятисотый]; [шестьсот >>|шестисотый]; [семьсот >>|семисотый]
800+100: [восемьсот >>|восьмисотый]; [девятьсот >>|девятисотый]
)";

// "last" is a group of three digits at the end of an ordinal. "counted" is one before its тысяча:
// coqui-tts makes it an ordinal unless it ends in a unit (20,001 is "двадцатый тысяч первый"),
// "feminine" the same before тысяча. "glued" stands in front of тысячный.
constexpr std::string_view kRussianOrdinals = R"(
last:
0: нулевой; первый; второй; третий; четвёртый; пятый; шестой; седьмой; восьмой; девятый; десятый
11: одиннадцатый; двенадцатый; тринадцатый; четырнадцатый; пятнадцатый; шестнадцатый
17: семнадцатый; восемнадцатый; девятнадцатый
{0}
counted:
0: ; один; два; три; четыре; пять; шесть; семь; восемь; девять
10: =last=
{0}
glued:
0: ; одно; двух; трёх; четырёх; пяти; шести; семи; восьми; девяти; десяти; одиннадцати
12: двенадцати; тринадцати; четырнадцати; пятнадцати; шестнадцати; семнадцати; восемнадцати
19: девятнадцати
20+10: двадцати[>>]; тридцати[>>]; сорока[>>]; пятидесяти[>>]; шестидесяти[>>]; семидесяти[>>]
80+10: восьмидесяти[>>]; девяносто[>>]
100+100: сто[>>]; двухсот[>>]; трёхсот[>>]; четырёхсот[>>]; пятисот[>>]; шестисот[>>]; семисот[>>]
800+100: восьмисот[>>]; девятисот[>>]
)";

// By the power of a thousand: the forms of its name, and its ordinal.
constexpr std::array<std::array<std::string_view, 3>, 5> kRussianLarge{
    {{},
     {"тысяча", "тысячи", "тысяч"},
     {"миллион", "миллиона", "миллионов"},
     {"миллиард", "миллиарда", "миллиардов"},
     {"триллион", "триллиона", "триллионов"}}};
constexpr std::array<std::string_view, 5> kRussianLargeOrdinals{"", "тысячный", "миллионный",
                                                                "миллиардный", "триллионный"};

std::size_t russian_form(std::uint64_t count) {
  return plural_form(count, PluralRule::EndingInOneIsSingular);
}

constexpr MoneyTable kRussianMoney{
    .separator = ",",
    .gbp = {},
    .usd = {{"доллар", "доллара", "долларов"}, {"цент", "цента", "центов"}},
    .eur = {{"евро", "евро", "евро"}, {"цент", "цента", "центов"}},
    .form = russian_form};

const SpellRules& ordinal_rules() {
  static const SpellRules rules(fmt::format(kRussianOrdinals, kRussianOrdinalTens));
  return rules;
}

std::string russian_cardinal(std::uint64_t number) {
  static const SpellRules rules(fmt::format(kRussianCardinals, kRussianTens),
                                PluralRule::EndingInOneIsSingular);
  return rules.spell(number);
}

// один and два in their feminine form, wherever they stand.
std::string in_the_feminine(const std::string& words) {
  std::string out;
  for (std::size_t start = 0; start <= words.size();) {
    const std::size_t end = std::min(words.find(' ', start), words.size());
    const std::string_view word = std::string_view(words).substr(start, end - start);
    if (start > 0) out += ' ';
    out += word == "один" ? "одна" : word == "два" ? "две" : word;
    start = end + 1;
  }
  return out;
}

void append_counted_group(std::string& words, std::uint64_t group, std::size_t level) {
  if (group != 1) {
    std::string counted = ordinal_rules().spell(group, "counted");
    words += (level == 1 ? in_the_feminine(counted) : counted) + " ";
  }
  words.append(kRussianLarge[level][russian_form(group)]).append(" ");
}

std::string russian_ordinal(std::uint64_t number) {
  std::size_t lowest = 0;
  std::uint64_t unit = 1;
  while (number != 0 && number / unit % 1000 == 0) {
    unit *= 1000;
    ++lowest;
  }
  std::string words;
  std::uint64_t divisor = 1'000'000'000'000;
  for (std::size_t level = kRussianLarge.size() - 1; level > lowest; --level, divisor /= 1000) {
    const std::uint64_t group = number / divisor % 1000;
    if (group != 0) append_counted_group(words, group, level);
  }
  const std::uint64_t group = number / unit % 1000;
  if (lowest == 0) return words + ordinal_rules().spell(group, "last");
  if (group != 1) words += ordinal_rules().spell(group, "glued");
  return words.append(kRussianLargeOrdinals[lowest]);
}

bool ends_in_one(std::uint64_t number) {
  return number % 10 == 1 && number % 100 != 11;
}

// "десятая", "сотых", "десятитысячных": the denominator of a fraction of so many digits.
std::string denominator(std::size_t digits, bool one) {
  std::uint64_t power = 1;
  for (std::size_t count = 0; count < digits; ++count) power *= 10;
  std::string words = russian_ordinal(power);
  words.resize(words.size() - std::string_view("ый").size());
  return words + (one ? "ая" : "ых");
}

std::string russian_decimal(const Decimal& number) {
  std::string words = in_the_feminine(russian_cardinal(number.whole));
  words += ends_in_one(number.whole) ? " целая " : " целых ";
  if (number.fraction.size() >= 15) return words + spell_digits(number.fraction, russian_cardinal);
  const std::uint64_t fraction = to_integer(number.fraction);
  words += in_the_feminine(russian_cardinal(fraction));
  return words + " " + denominator(number.fraction.size(), ends_in_one(fraction));
}

}  // namespace

constinit const NumberWords kRussianNumbers{.cardinal = russian_cardinal,
                                            .ordinal = russian_ordinal,
                                            .decimal = russian_decimal,
                                            .money = &kRussianMoney};

}  // namespace myxtts
