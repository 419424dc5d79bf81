// SPDX-License-Identifier: Apache-2.0
// Spanish and French. Italian and Portuguese have files of their own.
#include <array>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"

namespace myxtts {
namespace {

// Spanish
// -------------------------------------------------------------------------------------------

// The peer says "veintiuno mil", never "veintiún mil".
constexpr std::string_view kSpanish = R"(
cardinal:
0: cero; uno; dos; tres; cuatro; cinco; seis; siete; ocho; nueve; diez
11: once; doce; trece; catorce; quince; dieciséis; diecisiete; dieciocho; diecinueve; veinte
21: veintiuno; veintidós; veintitrés; veinticuatro; veinticinco; veintiséis; veintisiete
28: veintiocho; veintinueve
30+10: treinta[ y >>]; cuarenta[ y >>]; cincuenta[ y >>]; sesenta[ y >>]; setenta[ y >>]
80+10: ochenta[ y >>]; noventa[ y >>]
100: cien
101: ciento >>
200+100: doscientos[ >>]; trescientos[ >>]; cuatrocientos[ >>]; quinientos[ >>]; seiscientos[ >>]
700+100: setecientos[ >>]; ochocientos[ >>]; novecientos[ >>]
1000: mil[ >>]
2000: << mil[ >>]
1000000: un millón[ >>]
2000000: << millones[ >>]
1000000000000: un billón[ >>]
2000000000000: << billones[ >>]
)";

// The multiple stands in front of its milésimo without a blank.
constexpr std::string_view kSpanishOrdinals = R"(
ordinal:
0: ; primero; segundo; tercero; cuarto; quinto; sexto; séptimo; octavo; noveno; décimo
11: décimoprimero; décimosegundo
13: décimo >>
20+10: vigésimo[ >>]; trigésimo[ >>]; quadragésimo[ >>]; quincuagésimo[ >>]; sexagésimo[ >>]
70+10: septuagésimo[ >>]; octogésimo[ >>]; nonagésimo[ >>]
100+100: centésimo[ >>]; ducentésimo[ >>]; tricentésimo[ >>]; cuadrigentésimo[ >>]
500+100: quingentésimo[ >>]; sexcentésimo[ >>]; septigentésimo[ >>]; octigentésimo[ >>]
900: noningentésimo[ >>]
1000: milésimo[ >>]
2000: <cardinal<milésimo[ >>]
1000000: millonésimo[ >>]
2000000: <cardinal<millonésimo[ >>]
1000000000: billonésimo[ >>]
2000000000: <cardinal<billonésimo[ >>]
1000000000000: trillonésimo[ >>]
2000000000000: <cardinal<trillonésimo[ >>]
)";

constexpr MoneyTable kSpanishMoney{.separator = " con",
                                   .gbp = {{"libra", "", "libras"}, {"penique", "", "peniques"}},
                                   .usd = {{"dólar", "", "dólares"}, {"centavo", "", "centavos"}},
                                   .eur = {{"euro", "", "euros"}, {"céntimo", "", "céntimos"}}};

constexpr auto spanish_cardinal = spell_by<kSpanish>;

std::string spanish_ordinal(std::uint64_t number) {
  static const SpellRules rules(std::string(kSpanishOrdinals) + std::string(kSpanish));
  return rules.spell(number);
}

std::optional<std::string> spanish_amount(const Amount& amount, Currency currency) {
  std::string units = spanish_cardinal(amount.units);
  if (currency == Currency::Gbp) {
    replace_all(units, "uno", "una");
    replace_all(units, "cientos", "cientas");
  }
  std::string words = join_money(units, amount, currency, kSpanishMoney, spanish_cardinal);
  replace_all(words, "veintiuno", "veintiún");
  replace_all(words, "uno", "un");
  return drop_cents_if_whole(std::move(words), amount, kSpanishMoney.separator);
}

// French
// --------------------------------------------------------------------------------------------

constexpr std::string_view kFrench = R"(
cardinal:
0: zéro; un; deux; trois; quatre; cinq; six; sept; huit; neuf; dix
11: onze; douze; treize; quatorze; quinze; seize; dix-sept; dix-huit; dix-neuf
20: vingt; vingt et un
22: vingt->>
30: trente; trente et un
32: trente->>
40: quarante; quarante et un
42: quarante->>
50: cinquante; cinquante et un
52: cinquante->>
60: soixante; soixante et un
62/20: soixante->>
71: soixante et onze
72/20: soixante->>
80/20: quatre-vingt[->>|s]
100: cent[ >>]
200: << cent[ >>|s]
1000: mille[ >>]
2000: <thousands< mille[ >>]
1000000: un million[ >>]
2000000: << millions[ >>]
1000000000: un milliard[ >>]
2000000000: << milliards[ >>]
1000000000000: un billion[ >>]
2000000000000: << billions[ >>]
thousands:
0: =cardinal=
80: quatre-vingt
81: =cardinal=
100: cent[ >>]
200: <cardinal< cent[ >>]
)";

constexpr MoneyTable kFrenchMoney{.separator = " et",
                                  .gbp = {{"livre", "", "livres"}, {"penny", "", "pence"}},
                                  .usd = {{"dollar", "", "dollars"}, {"cent", "", "cents"}},
                                  .eur = {{"euro", "", "euros"}, {"centime", "", "centimes"}}};

constexpr auto french_cardinal = spell_by<kFrench>;

std::string french_ordinal(std::uint64_t number) {
  if (number == 1) return "premier";
  std::string words = french_cardinal(number);
  if (words.ends_with("cinq")) return words + "uième";
  if (words.ends_with("neuf")) return words.substr(0, words.size() - 1) + "vième";
  if (words.ends_with("e")) words.pop_back();
  return words + "ième";
}

}  // namespace

constinit const NumberWords kSpanishNumbers{.cardinal = spanish_cardinal,
                                            .ordinal = spanish_ordinal,
                                            .point = "punto",
                                            .amount = spanish_amount};
constinit const NumberWords kFrenchNumbers{.cardinal = french_cardinal,
                                           .ordinal = french_ordinal,
                                           .point = "virgule",
                                           .money = &kFrenchMoney};

}  // namespace myxtts
