// SPDX-License-Identifier: Apache-2.0
// Polish and Czech. Russian has a file of its own.
#include <array>

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

}  // namespace

constinit const NumberWords kPolishNumbers{.cardinal = polish_cardinal,
                                           .ordinal = polish_ordinal,
                                           .decimal = polish_decimal,
                                           .money = &kPolishMoney};
constinit const NumberWords kCzechNumbers{.cardinal = czech_cardinal,
                                          .ordinal = czech_ordinal,
                                          .decimal = czech_decimal,
                                          .money = &kCzechMoney};

}  // namespace myxtts
