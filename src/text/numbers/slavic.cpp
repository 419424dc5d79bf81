// SPDX-License-Identifier: Apache-2.0
// Polish, Czech and Russian.
#include <array>

#include <fmt/format.h>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"

namespace myxtts {
namespace {

std::size_t slavic_form(std::uint64_t count) {
  return plural_form(count, PluralRule::OnlyOneIsSingular);
}

// "jeden przecinek zero pięć": one zero word for each zero in front of the fraction.
std::string spell_slavic_decimal(const Decimal& number, std::string_view point,
                                 std::string (*cardinal)(std::uint64_t)) {
  std::string words = cardinal(number.whole);
  words.append(" ").append(point).append(" ");
  const std::size_t zeros =
      std::min(number.fraction.find_first_not_of('0'), number.fraction.size());
  for (std::size_t count = 0; count < zeros; ++count) words += cardinal(0) + " ";
  return words + spell_integer(number.fraction, cardinal);
}

// Polish
// --------------------------------------------------------------------------------------------

constexpr std::string_view kPolish = R"(
cardinal:
0: zero; jeden; dwa; trzy; cztery; pięć; sześć; siedem; osiem; dziewięć; dziesięć
11: jedenaście; dwanaście; trzynaście; czternaście; piętnaście; szesnaście; siedemnaście
18: osiemnaście; dziewiętnaście
20+10: dwadzieścia[ >>]; trzydzieści[ >>]; czterdzieści[ >>]; pięćdziesiąt[ >>]; sześćdziesiąt[ >>]
70+10: siedemdziesiąt[ >>]; osiemdziesiąt[ >>]; dziewięćdziesiąt[ >>]
100+100: sto[ >>]; dwieście[ >>]; trzysta[ >>]; czterysta[ >>]; pięćset[ >>]; sześćset[ >>]
700+100: siedemset[ >>]; osiemset[ >>]; dziewięćset[ >>]
1000: tysiąc[ >>]
2000: << (tysiąc|tysiące|tysięcy)[ >>]
1000000: milion[ >>]
2000000: << (milion|miliony|milionów)[ >>]
1000000000: miliard[ >>]
2000000000: << (miliard|miliardy|miliardów)[ >>]
1000000000000: bilion[ >>]
2000000000000: << (bilion|biliony|bilionów)[ >>]
)";

// The last three digits of an ordinal; "glued" is the form in front of tysięczny and milionowy,
// with coqui-tts' spelling (trzydiesto, pięcset, ośiemset), and knows only what coqui-tts can say
// there.
constexpr std::string_view kPolishOrdinals = R"(
ordinal:
0: ; pierwszy; drugi; trzeci; czwarty; piąty; szósty; siódmy; ósmy; dziewiąty; dziesiąty
11: jedenasty; dwunasty; trzynasty; czternasty; piętnasty; szesnasty; siedemnasty; osiemnasty
19: dziewiętnasty
20+10: dwudziesty[ >>]; trzydziesty[ >>]; czterdziesty[ >>]; pięćdziesiąty[ >>]; sześćdziesiąty[ >>]
70+10: siedemdziesiąty[ >>]; osiemdziesiąty[ >>]; dziewięćdziesiąty[ >>]
100+100: [sto >>|setny]; [dwieście >>|dwusetny]; [trzysta >>|trzysetny]; [czterysta >>|czterysetny]
500+100: [pięćset >>|pięćsetny]; [sześćset >>|sześćsetny]; [siedemset >>|siedemsetny]
800+100: [osiemset >>|osiemsetny]; [dziewięćset >>|dziewięćsetny]
glued:
0: ; ; dwu; trzy; cztero; pięcio; sześcio; siedmio; ośmio; dziewięcio; dziesięcio; jedenasto
12: dwunasto; trzynasto; czternasto; piętnasto; szesnasto; siedemnasto; osiemnasto; dziewiętnasto
20+10: [=ordinal=|dwudziesto]; [=ordinal=|trzydiesto]; [=ordinal=|czterdziesto]
50+10: [=ordinal=|pięćdziesięcio]; [=ordinal=|sześćdziesięcio]; [=ordinal=|siedemdziesięcio]
80+10: [=ordinal=|osiemdziesięcio]; [=ordinal=|dziewięćdziesięcio]
100+100: [=ordinal=|stu]; [=ordinal=|dwustu]; [=ordinal=|trzystu]; [=ordinal=|czterystu]
500+100: [=ordinal=|pięcset]; [=ordinal=|sześćset]; [=ordinal=|siedemset]; [=ordinal=|ośiemset]
900: [=ordinal=|dziewięćset]
)";

constexpr std::array<std::string_view, 4> kPolishLargeOrdinals{"", "tysięczny", "milionowy",
                                                               "milairdowy"};

constexpr MoneyTable kPolishMoney{
    .separator = ",",
    .gbp = {},
    .usd = {{"dolar amerykański", "dolary amerykańskie", "dolarów amerykańskich"},
            {"cent", "centy", "centów"}},
    .eur = {{"euro", "euro", "euro"}, {"cent", "centy", "centów"}},
    .form = slavic_form};

constexpr auto polish_cardinal = spell_by<kPolish>;

// Whether coqui-tts can put this group in front of tysięczny: not 101 to 120, 130, 140 and so on.
bool can_be_glued(std::uint64_t group) {
  const std::uint64_t rest = group % 100;
  return group < 100 || rest == 0 || (rest > 20 && rest % 10 != 0);
}

std::string polish_ordinal(std::uint64_t number) {
  static const SpellRules rules(kPolishOrdinals);
  if (number == 0) return polish_cardinal(number);
  std::uint64_t unit = 1;
  std::size_t level = 0;
  while (number / unit % 1000 == 0) {
    unit *= 1000;
    ++level;
  }
  const std::uint64_t group = number / unit % 1000;
  const std::uint64_t front = number - group * unit;
  std::string words = front == 0 ? "" : polish_cardinal(front) + " ";
  if (level == 0) return words + rules.spell(group);
  if (level >= kPolishLargeOrdinals.size() || !can_be_glued(group)) return polish_cardinal(number);
  return words + rules.spell(group, "glued") + std::string(kPolishLargeOrdinals[level]);
}

std::string polish_decimal(const Decimal& number) {
  return spell_slavic_decimal(number, "przecinek", polish_cardinal);
}

// Czech
// ---------------------------------------------------------------------------------------------

// coqui-tts counts thousands in the feminine and declines them as Polish does.
constexpr std::string_view kCzech = R"(
cardinal:
0: nula; jedna; dva; tři; čtyři; pět; šest; sedm; osm; devět; deset
11: jedenáct; dvanáct; třináct; čtrnáct; patnáct; šestnáct; sedmnáct; osmnáct; devatenáct
20+10: dvacet[ >>]; třicet[ >>]; čtyřicet[ >>]; padesát[ >>]; šedesát[ >>]; sedmdesát[ >>]
80+10: osmdesát[ >>]; devadesát[ >>]
100+100: sto[ >>]; dvěstě[ >>]; <<sta[ >>]
500: <<set[ >>]
1000: tisíc[ >>]
2000: << (tisíc|tisíce|tisíc)[ >>]
1000000: milion[ >>]
2000000: << (milion|miliony|milionů)[ >>]
1000000000: miliarda[ >>]
2000000000: << (miliarda|miliardy|miliard)[ >>]
1000000000000: bilion[ >>]
2000000000000: << (bilion|biliony|bilionů)[ >>]
)";

// coqui-tts has none; these are ours. Tens and units are both ordinals, what stands before is not.
constexpr std::string_view kCzechOrdinals = R"(
ordinal:
0: nultý; první; druhý; třetí; čtvrtý; pátý; šestý; sedmý; osmý; devátý; desátý
11: jedenáctý; dvanáctý; třináctý; čtrnáctý; patnáctý; šestnáctý; sedmnáctý; osmnáctý; devatenáctý
20+10: dvacátý[ >>]; třicátý[ >>]; čtyřicátý[ >>]; padesátý[ >>]; šedesátý[ >>]; sedmdesátý[ >>]
80+10: osmdesátý[ >>]; devadesátý[ >>]
100+100: [sto >>|stý]; [dvěstě >>|dvoustý]; [třista >>|třístý]; [čtyřista >>|čtyřstý]
500+100: [pětset >>|pětistý]; [šestset >>|šestistý]; [sedmset >>|sedmistý]; [osmset >>|osmistý]
900: [devětset >>|devítistý]
1000: tisíc[ >>|í]
2000: [<cardinal< (tisíc|tisíce|tisíc) >>|<front<tisící]
1000000: [milion >>|miliontý]
2000000: [<cardinal< (milion|miliony|milionů) >>|<cardinal< miliontý]
1000000000: [miliarda >>|miliardtý]
2000000000: [<cardinal< (miliarda|miliardy|miliard) >>|<cardinal< miliardtý]
1000000000000: [bilion >>|biliontý]
2000000000000: [<cardinal< (bilion|biliony|bilionů) >>|<cardinal< biliontý]
front:
0: ; ; dvou; tří; čtyř; pěti; šesti; sedmi; osmi; devíti; deseti
11: =cardinal=
)";

constexpr MoneyTable kCzechMoney{.separator = ",",
                                 .gbp = {},
                                 .usd = {},
                                 .eur = {{"euro", "euro", "euro"}, {"cent", "centy", "centů"}},
                                 .form = slavic_form};

constexpr auto czech_cardinal = spell_by<kCzech>;

std::string czech_ordinal(std::uint64_t number) {
  static const SpellRules rules(std::string(kCzechOrdinals) + std::string(kCzech));
  return rules.spell(number);
}

std::string czech_decimal(const Decimal& number) {
  return spell_slavic_decimal(number, "celá", czech_cardinal);
}

// Russian
// ------------------------------------------------------------------------------------------

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

constinit const NumberWords kPolishNumbers{.cardinal = polish_cardinal,
                                           .ordinal = polish_ordinal,
                                           .decimal = polish_decimal,
                                           .money = &kPolishMoney};
constinit const NumberWords kCzechNumbers{.cardinal = czech_cardinal,
                                          .ordinal = czech_ordinal,
                                          .decimal = czech_decimal,
                                          .money = &kCzechMoney};
constinit const NumberWords kRussianNumbers{.cardinal = russian_cardinal,
                                            .ordinal = russian_ordinal,
                                            .decimal = russian_decimal,
                                            .money = &kRussianMoney};

}  // namespace myxtts
