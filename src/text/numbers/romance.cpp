// SPDX-License-Identifier: Apache-2.0
// Spanish, French, Portuguese and Italian.
#include <array>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"

namespace myxtts {
namespace {

// Spanish
// -------------------------------------------------------------------------------------------

// coqui-tts says "veintiuno mil", never "veintiún mil".
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

// Portuguese
// --------------------------------------------------------------------------------------------

constexpr std::string_view kPortuguese = R"(
cardinal:
0: zero; um; dois; três; quatro; cinco; seis; sete; oito; nove; dez
11: onze; doze; treze; catorze; quinze; dezasseis; dezassete; dezoito; dezanove
20+10: vinte[ e >>]; trinta[ e >>]; quarenta[ e >>]; cinquenta[ e >>]; sessenta[ e >>]
70+10: setenta[ e >>]; oitenta[ e >>]; noventa[ e >>]
100: cem
101: cento e >>
200+100: duzentos[ e >>]; trezentos[ e >>]; quatrocentos[ e >>]; quinhentos[ e >>]
600+100: seiscentos[ e >>]; setecentos[ e >>]; oitocentos[ e >>]; novecentos[ e >>]
1000: mil[ e >>]
2000: << mil[ e >>]
1000000: um milhão[ e >>]
2000000: << milhões[ e >>]
1000000000000: um bilião[ e >>]
2000000000000: << biliões[ e >>]
)";

// A group of three digits as an ordinal, digit by digit.
constexpr std::string_view kPortugueseOrdinals = R"(
group:
0: ; primeiro; segundo; terceiro; quarto; quinto; sexto; sétimo; oitavo; nono
10+10: décimo[ >>]; vigésimo[ >>]; trigésimo[ >>]; quadragésimo[ >>]; quinquagésimo[ >>]
60+10: sexagésimo[ >>]; septuagésimo[ >>]; octogésimo[ >>]; nonagésimo[ >>]
100+100: centésimo[ >>]; ducentésimo[ >>]; tricentésimo[ >>]; quadrigentésimo[ >>]
500+100: quingentésimo[ >>]; seiscentésimo[ >>]; septigentésimo[ >>]; octigentésimo[ >>]
900: nongentésimo[ >>]
1000: <<' milésimo[ >>]
1000000: <<' milionésimo[ >>]
1000000000: <<' milésimo milionésimo[ >>]
1000000000000: <<' bilionésimo[ >>]
)";

constexpr std::array<std::string_view, 7> kLoseTheirE{
    "mil", "milhão", "milhões", "mil milhões", "bilião", "biliões", "mil biliões"};

constexpr MoneyTable kPortugueseMoney{
    .separator = " e",
    .gbp = {{"libra", "", "libras"}, {"péni", "", "pence"}},
    .usd = {{"dólar", "", "dólares"}, {"cêntimo", "", "cêntimos"}},
    .eur = {{"euro", "", "euros"}, {"cêntimo", "", "cêntimos"}}};

// Whether "mil e", say, stands before hundreds that more words with an e follow: "mil e cento e
// dez".
bool stands_before_compound_hundreds(std::string_view words, std::string_view with_e) {
  for (std::size_t at = words.find(with_e); at != std::string_view::npos;
       at = words.find(with_e, at + 1)) {
    const std::size_t start = at + with_e.size() + 1;
    const std::size_t end = words.find(' ', start);
    if (end == std::string_view::npos) return false;
    const std::string_view word = words.substr(start, end - start);
    const bool hundreds = word.ends_with("ento") || word.ends_with("entos");
    if (hundreds && words.find('e', end) != std::string_view::npos) return true;
  }
  return false;
}

// "mil e cento e catorze" becomes "mil cento e catorze", but "mil e cem" stays.
void drop_e_before_hundreds(std::string& words) {
  for (const std::string_view name : kLoseTheirE) {
    const std::string with_e = std::string(name) + " e";
    if (stands_before_compound_hundreds(words, with_e)) replace_all(words, with_e, name);
  }
}

std::string portuguese_cardinal(std::uint64_t number) {
  static const SpellRules rules(kPortuguese);
  std::string words = rules.spell(number);
  drop_e_before_hundreds(words);
  return words;
}

std::string portuguese_ordinal(std::uint64_t number) {
  static const SpellRules rules(kPortugueseOrdinals);
  constexpr std::string_view kFirst = "primeiro ";
  std::string words = rules.spell(number);
  if (words.starts_with(kFirst)) words.erase(0, kFirst.size());
  return words;
}

std::string portuguese_decimal(const Decimal& number) {
  std::string words = spell_decimal(number, "vírgula", portuguese_cardinal);
  drop_e_before_hundreds(words);
  return words;
}

std::optional<std::string> portuguese_amount(const Amount& amount, Currency currency) {
  std::string units = portuguese_cardinal(amount.units);
  for (const std::string_view large : {"milhão", "milhões", "bilião", "biliões"}) {
    if (units.ends_with(large)) units += " de";
  }
  std::string words = join_money(units, amount, currency, kPortugueseMoney, portuguese_cardinal);
  // coqui-tts drops the cents here and then cuts once more, so that 25€ is only "vinte".
  replace_all(words, " e zero cêntimos", "");
  return drop_cents_if_whole(std::move(words), amount, kPortugueseMoney.separator);
}

// Italian
// --------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 20> kItalianSmall{
    "zero",        "uno",      "due",    "tre",         "quattro",  "cinque",    "sei",
    "sette",       "otto",     "nove",   "dieci",       "undici",   "dodici",    "tredici",
    "quattordici", "quindici", "sedici", "diciassette", "diciotto", "diciannove"};

constexpr std::array<std::string_view, 20> kItalianSmallOrdinals{
    "zero",         "primo",      "secondo",         "terzo",        "quarto",
    "quinto",       "sesto",      "settimo",         "ottavo",       "nono",
    "decimo",       "undicesimo", "dodicesimo",      "tredicesimo",  "quattordicesimo",
    "quindicesimo", "sedicesimo", "diciassettesimo", "diciottesimo", "diciannovesimo"};

constexpr std::array<std::string_view, 10> kItalianTens{
    "",          "",         "venti",    "trenta",  "quaranta",
    "cinquanta", "sessanta", "settanta", "ottanta", "novanta"};

struct ItalianLarge {
  std::uint64_t value;
  std::string_view one;
  std::string_view many;
};
constexpr std::array<ItalianLarge, 3> kItalianLarge{{{1'000'000'000'000, "bilione", "bilioni"},
                                                     {1'000'000'000, "miliardo", "miliardi"},
                                                     {1'000'000, "milione", "milioni"}}};

constexpr MoneyTable kItalianMoney{
    .separator = " e",
    .gbp = {{"sterlina", "", "sterline"}, {"penny", "", "penny"}},
    .usd = {{"dollaro", "", "dollari"}, {"centesimo", "", "centesimi"}},
    .eur = {{"euro", "", "euro"}, {"centesimo", "", "centesimi"}}};

// Vowels that meet melt into one. coqui-tts looks at the whole word, so 118 is "centodicotto".
void contract_vowels(std::string& word) {
  replace_all(word, "oo", "o");
  replace_all(word, "ao", "o");
  replace_all(word, "io", "o");
  replace_all(word, "au", "u");
  replace_all(word, "iu", "u");
}

// A word that ends in "tre", and is longer, gets its accent; every other accent goes. coqui-tts
// does this once for each part a number is made of, so the accent comes and goes: ventitré,
// centoventitre.
std::string with_accents(const std::string& words) {
  std::string out;
  for (std::size_t start = 0; start < words.size();) {
    const std::size_t end = std::min(words.find(' ', start), words.size());
    std::string word = words.substr(start, end - start);
    const bool accented = word.size() > 3 && word.ends_with("tre");
    replace_all(word, "tré", "tre");
    if (accented) word.replace(word.size() - 1, 1, "é");
    if (start > 0) out += ' ';
    out += word;
    start = end + 1;
  }
  return out;
}

std::string italian_cardinal(std::uint64_t number);

std::string rest_or_nothing(std::uint64_t rest) {
  return rest == 0 ? "" : italian_cardinal(rest);
}

std::string below_thousand(std::uint64_t number) {
  std::string word;
  if (number < 100) {
    word = kItalianTens[number / 10];
    if (number % 10 != 0) word += kItalianSmall[number % 10];
  } else {
    word = (number < 200 ? "" : std::string(kItalianSmall[number / 100])) + "cento";
    word += rest_or_nothing(number % 100);
  }
  contract_vowels(word);
  return word;
}

std::string with_large(std::uint64_t number, const ItalianLarge& large) {
  const std::uint64_t count = number / large.value;
  std::string words = count == 1 ? "un " + std::string(large.one)
                                 : italian_cardinal(count) + " " + std::string(large.many);
  if (number % large.value == 0) return words;
  const std::string rest = italian_cardinal(number % large.value);
  words += rest.find(" e ") != std::string::npos ? ", " : " e ";
  return words + rest;
}

std::string italian_cardinal(std::uint64_t number) {
  if (number < 20) return std::string(kItalianSmall[number]);
  if (number < 1000) return with_accents(below_thousand(number));
  for (const ItalianLarge& large : kItalianLarge) {
    if (number >= large.value) return with_accents(with_large(number, large));
  }
  const std::uint64_t thousands = number / 1000;
  const std::string front = thousands == 1 ? "mille" : italian_cardinal(thousands) + "mila";
  return with_accents(front + rest_or_nothing(number % 1000));
}

std::string italian_ordinal(std::uint64_t number) {
  if (number < 20) return std::string(kItalianSmallOrdinals[number]);
  std::string words = italian_cardinal(number);
  const std::uint64_t last_two = number % 100;
  const bool teens = last_two > 10 && last_two < 20;
  if (!teens && last_two % 10 == 6) return words + "esimo";
  words.resize(words.size() - (words.ends_with("é") ? std::string_view("é").size() : 1));
  if (!teens && last_two % 10 == 3) return words + "eesimo";
  return words + (words.ends_with("mil") ? "lesimo" : "esimo");
}

std::string italian_decimal(const Decimal& number) {
  return with_accents(italian_cardinal(number.whole) + " virgola " +
                      spell_digits(number.fraction, italian_cardinal));
}

std::optional<std::string> italian_amount(const Amount& amount, Currency currency) {
  std::string units = italian_cardinal(amount.units);
  if (currency == Currency::Gbp && units == "uno") units = "una";
  std::string words = join_money(units, amount, currency, kItalianMoney, italian_cardinal);
  replace_all(words, "uno", "un");
  return drop_cents_if_whole(std::move(words), amount, kItalianMoney.separator);
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
constinit const NumberWords kPortugueseNumbers{.cardinal = portuguese_cardinal,
                                               .ordinal = portuguese_ordinal,
                                               .decimal = portuguese_decimal,
                                               .amount = portuguese_amount};
constinit const NumberWords kItalianNumbers{.cardinal = italian_cardinal,
                                            .ordinal = italian_ordinal,
                                            .decimal = italian_decimal,
                                            .amount = italian_amount};

}  // namespace myxtts
