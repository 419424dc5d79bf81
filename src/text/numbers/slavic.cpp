// SPDX-License-Identifier: Apache-2.0
// Polish and Czech. Russian has a file of its own.
#include <array>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"

namespace myxtts {
namespace {

std::string spell_slavic_money(const Amount& amount, const MoneyNames& names,
                               std::string_view separator, std::string (*cardinal)(std::uint64_t)) {
  const auto form = [](std::uint64_t count) {
    return plural_form(count, PluralRule::OnlyOneIsSingular);
  };
  const MoneyPhrase phrase{cardinal(amount.units), names.unit[form(amount.units)],
                           cardinal(amount.cents), names.cent[form(amount.cents)]};
  return drop_cents_if_whole(join_money(phrase, separator), amount, separator);
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
20: dwadzieścia[ >>]
30: trzydzieści[ >>]
40: czterdzieści[ >>]
50: pięćdziesiąt[ >>]
60: sześćdziesiąt[ >>]
70: siedemdziesiąt[ >>]
80: osiemdziesiąt[ >>]
90: dziewięćdziesiąt[ >>]
100: sto[ >>]
200: dwieście[ >>]
300: trzysta[ >>]
400: czterysta[ >>]
500: pięćset[ >>]
600: sześćset[ >>]
700: siedemset[ >>]
800: osiemset[ >>]
900: dziewięćset[ >>]
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
// with the peer's spelling (trzydiesto, pięcset, ośiemset), and knows only what the peer can say
// there.
constexpr std::string_view kPolishOrdinals = R"(
ordinal:
0: ; pierwszy; drugi; trzeci; czwarty; piąty; szósty; siódmy; ósmy; dziewiąty; dziesiąty
11: jedenasty; dwunasty; trzynasty; czternasty; piętnasty; szesnasty; siedemnasty; osiemnasty
19: dziewiętnasty
20: dwudziesty[ >>]
30: trzydziesty[ >>]
40: czterdziesty[ >>]
50: pięćdziesiąty[ >>]
60: sześćdziesiąty[ >>]
70: siedemdziesiąty[ >>]
80: osiemdziesiąty[ >>]
90: dziewięćdziesiąty[ >>]
100: [sto >>|setny]
200: [dwieście >>|dwusetny]
300: [trzysta >>|trzysetny]
400: [czterysta >>|czterysetny]
500: [pięćset >>|pięćsetny]
600: [sześćset >>|sześćsetny]
700: [siedemset >>|siedemsetny]
800: [osiemset >>|osiemsetny]
900: [dziewięćset >>|dziewięćsetny]
glued:
0: ; ; dwu; trzy; cztero; pięcio; sześcio; siedmio; ośmio; dziewięcio; dziesięcio; jedenasto
12: dwunasto; trzynasto; czternasto; piętnasto; szesnasto; siedemnasto; osiemnasto; dziewiętnasto
20: [=ordinal=|dwudziesto]
30: [=ordinal=|trzydiesto]
40: [=ordinal=|czterdziesto]
50: [=ordinal=|pięćdziesięcio]
60: [=ordinal=|sześćdziesięcio]
70: [=ordinal=|siedemdziesięcio]
80: [=ordinal=|osiemdziesięcio]
90: [=ordinal=|dziewięćdziesięcio]
100: [=ordinal=|stu]
200: [=ordinal=|dwustu]
300: [=ordinal=|trzystu]
400: [=ordinal=|czterystu]
500: [=ordinal=|pięcset]
600: [=ordinal=|sześćset]
700: [=ordinal=|siedemset]
800: [=ordinal=|ośiemset]
900: [=ordinal=|dziewięćset]
)";

constexpr std::array<std::string_view, 4> kPolishLargeOrdinals{"", "tysięczny", "milionowy",
                                                               "milairdowy"};

constexpr MoneyTable kPolishMoney{
    .separator = ",",
    .gbp = {},
    .usd = {{"dolar amerykański", "dolary amerykańskie", "dolarów amerykańskich"},
            {"cent", "centy", "centów"}},
    .eur = {{"euro", "euro", "euro"}, {"cent", "centy", "centów"}}};

std::string polish_cardinal(std::uint64_t number) {
  static const SpellRules rules(kPolish);
  return rules.spell(number);
}

// Whether the peer can put this group in front of tysięczny: not 101 to 120, 130, 140 and so on.
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

std::optional<std::string> polish_amount(const Amount& amount, Currency currency) {
  const MoneyNames& names = kPolishMoney.names(currency);
  if (!names.known()) return std::nullopt;
  return spell_slavic_money(amount, names, kPolishMoney.separator, polish_cardinal);
}

// Czech
// ---------------------------------------------------------------------------------------------

// The peer counts thousands in the feminine and declines them as Polish does.
constexpr std::string_view kCzech = R"(
cardinal:
0: nula; jedna; dva; tři; čtyři; pět; šest; sedm; osm; devět; deset
11: jedenáct; dvanáct; třináct; čtrnáct; patnáct; šestnáct; sedmnáct; osmnáct; devatenáct
20: dvacet[ >>]
30: třicet[ >>]
40: čtyřicet[ >>]
50: padesát[ >>]
60: šedesát[ >>]
70: sedmdesát[ >>]
80: osmdesát[ >>]
90: devadesát[ >>]
100: sto[ >>]
200: dvěstě[ >>]
300: <<sta[ >>]
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

// The peer has none; these are ours. Tens and units are both ordinals, what stands before is not.
constexpr std::string_view kCzechOrdinals = R"(
ordinal:
0: nultý; první; druhý; třetí; čtvrtý; pátý; šestý; sedmý; osmý; devátý; desátý
11: jedenáctý; dvanáctý; třináctý; čtrnáctý; patnáctý; šestnáctý; sedmnáctý; osmnáctý; devatenáctý
20: dvacátý[ >>]
30: třicátý[ >>]
40: čtyřicátý[ >>]
50: padesátý[ >>]
60: šedesátý[ >>]
70: sedmdesátý[ >>]
80: osmdesátý[ >>]
90: devadesátý[ >>]
100: [sto >>|stý]
200: [dvěstě >>|dvoustý]
300: [třista >>|třístý]
400: [čtyřista >>|čtyřstý]
500: [pětset >>|pětistý]
600: [šestset >>|šestistý]
700: [sedmset >>|sedmistý]
800: [osmset >>|osmistý]
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
                                 .eur = {{"euro", "euro", "euro"}, {"cent", "centy", "centů"}}};

std::string czech_cardinal(std::uint64_t number) {
  static const SpellRules rules(kCzech);
  return rules.spell(number);
}

std::string czech_ordinal(std::uint64_t number) {
  static const SpellRules rules(std::string(kCzechOrdinals) + std::string(kCzech));
  return rules.spell(number);
}

std::string czech_decimal(const Decimal& number) {
  return spell_slavic_decimal(number, "celá", czech_cardinal);
}

std::optional<std::string> czech_amount(const Amount& amount, Currency currency) {
  const MoneyNames& names = kCzechMoney.names(currency);
  if (!names.known()) return std::nullopt;
  return spell_slavic_money(amount, names, kCzechMoney.separator, czech_cardinal);
}

}  // namespace

constinit const NumberWords kPolishNumbers{polish_cardinal, polish_ordinal, polish_decimal,
                                           polish_amount};
constinit const NumberWords kCzechNumbers{czech_cardinal, czech_ordinal, czech_decimal,
                                          czech_amount};

}  // namespace myxtts
