// SPDX-License-Identifier: Apache-2.0
// English, German and Dutch.
#include <array>
#include <utility>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"

namespace myxtts {
namespace {

using Ending = std::pair<std::string_view, std::string_view>;

// The first ending that fits is replaced.
template <std::size_t kCount>
void replace_ending(std::string& word, const std::array<Ending, kCount>& endings) {
  for (const auto& [from, to] : endings) {
    if (!word.ends_with(from)) continue;
    word.resize(word.size() - from.size());
    word += to;
    return;
  }
}

// English
// -------------------------------------------------------------------------------------------

constexpr std::string_view kEnglishRules = R"(
cardinal:
0: zero; one; two; three; four; five; six; seven; eight; nine; ten
11: eleven; twelve; thirteen; fourteen; fifteen; sixteen; seventeen; eighteen; nineteen
20: twenty[->>]
30: thirty[->>]
40: forty[->>]
50: fifty[->>]
60: sixty[->>]
70: seventy[->>]
80: eighty[->>]
90: ninety[->>]
100: << hundred[ and >>]
1000: << thousand[>tail>]
1000000: << million[>tail>]
1000000000: << billion[>tail>]
1000000000000: << trillion[>tail>]
tail:
0: ' and =cardinal=
100: , =cardinal=
)";

constexpr std::array<Ending, 8> kEnglishOrdinals{{{"one", "first"},
                                                  {"two", "second"},
                                                  {"three", "third"},
                                                  {"five", "fifth"},
                                                  {"eight", "eighth"},
                                                  {"nine", "ninth"},
                                                  {"twelve", "twelfth"},
                                                  {"y", "ieth"}}};

constexpr MoneyTable kEnglishMoney{
    .separator = ",",
    .gbp = {{"pound sterling", "", "pounds sterling"}, {"penny", "", "pence"}},
    .usd = {{"dollar", "", "dollars"}, {"cent", "", "cents"}},
    .eur = {{"euro", "", "euro"}, {"cent", "", "cents"}}};

std::string english_cardinal(std::uint64_t number) {
  static const SpellRules rules(kEnglishRules);
  return rules.spell(number);
}

std::string english_ordinal(std::uint64_t number) {
  const std::string words = english_cardinal(number);
  std::string changed = words;
  replace_ending(changed, kEnglishOrdinals);
  return changed != words ? changed : words + "th";
}

std::string english_decimal(const Decimal& number) {
  return spell_decimal(number, "point", english_cardinal);
}

std::optional<std::string> english_amount(const Amount& amount, Currency currency) {
  return spell_money(amount, kEnglishMoney.names(currency), kEnglishMoney.separator,
                     english_cardinal);
}

// German
// --------------------------------------------------------------------------------------------

// The peer counts 101,000 as "einhunderteinstausend"; so does this table.
constexpr std::string_view kGermanRules = R"(
cardinal:
0: null; eins; zwei; drei; vier; fünf; sechs; sieben; acht; neun; zehn
11: elf; zwölf; dreizehn; vierzehn; fünfzehn; sechzehn; siebzehn; achtzehn; neunzehn
20: [>unit>und]zwanzig
30: [>unit>und]dreißig
40: [>unit>und]vierzig
50: [>unit>und]fünfzig
60: [>unit>und]sechzig
70: [>unit>und]siebzig
80: [>unit>und]achtzig
90: [>unit>und]neunzig
100: einhundert[>>]
200: <<hundert[>>]
1000: eintausend[>>]
2000: <<tausend[>>]
1000000: eine Million[ >>]
2000000: << Millionen[ >>]
1000000000: eine Milliarde[ >>]
2000000000: << Milliarden[ >>]
1000000000000: eine Billion[ >>]
2000000000000: << Billionen[ >>]
unit:
0: null; ein; zwei; drei; vier; fünf; sechs; sieben; acht; neun
)";

constexpr std::array<Ending, 11> kGermanOrdinals{{{"eins", "ers"},
                                                  {"drei", "drit"},
                                                  {"acht", "ach"},
                                                  {"sieben", "sieb"},
                                                  {"ig", "igs"},
                                                  {"ert", "erts"},
                                                  {"end", "ends"},
                                                  {"ion", "ions"},
                                                  {"nen", "ns"},
                                                  {"rde", "rds"},
                                                  {"rden", "rds"}}};

constexpr MoneyTable kGermanMoney{.separator = " und",
                                  .gbp = {{"Pfund", "", "Pfund"}, {"Penny", "", "Pence"}},
                                  .usd = {{"Dollar", "", "Dollar"}, {"Cent", "", "Cent"}},
                                  .eur = {{"Euro", "", "Euro"}, {"Cent", "", "Cent"}}};

std::string german_cardinal(std::uint64_t number) {
  static const SpellRules rules(kGermanRules);
  return rules.spell(number);
}

// "eine millionste" becomes "millionste", "zwei millionste" becomes "zweimillionste".
void join_german_million(std::string& words) {
  if (!words.ends_with("illionste") && !words.ends_with("illiardste")) return;
  const std::size_t space = words.rfind(' ');
  if (space == std::string::npos) return;
  constexpr std::string_view kOne = "eine";
  const bool one = std::string_view(words).substr(0, space).ends_with(kOne);
  words.erase(one ? space - kOne.size() : space, one ? kOne.size() + 1 : 1);
  const std::size_t before = words.rfind(' ');
  if (one && before != std::string::npos) words.erase(before, 1);
}

std::string german_ordinal(std::uint64_t number) {
  std::string words = german_cardinal(number);
  replace_all(words, "M", "m");
  replace_all(words, "B", "b");
  replace_ending(words, kGermanOrdinals);
  words += "te";
  if (words == "eintausendste" || words == "einhundertste") words.erase(0, 3);
  join_german_million(words);
  return words;
}

std::string german_decimal(const Decimal& number) {
  return spell_decimal(number, "Komma", german_cardinal);
}

std::optional<std::string> german_amount(const Amount& amount, Currency currency) {
  std::string words =
      spell_money(amount, kGermanMoney.names(currency), kGermanMoney.separator, german_cardinal);
  replace_all(words, "eins ", "ein ");
  return words;
}

// Dutch
// ---------------------------------------------------------------------------------------------

constexpr std::string_view kDutchRules = R"(
cardinal:
0: nul; één; twee; drie; vier; vijf; zes; zeven; acht; negen; tien
11: elf; twaalf; dertien; veertien; vijftien; zestien; zeventien; achttien; negentien
20: [>unit>]twintig
30: [>unit>]dertig
40: [>unit>]veertig
50: [>unit>]vijftig
60: [>unit>]zestig
70: [>unit>]zeventig
80: [>unit>]tachtig
90: [>unit>]negentig
100: honderd[>>]
200: <<honderd[>>]
1000: duizend[>>]
2000: <<duizend[>>]
1000000: een miljoen[ >>]
2000000: << miljoen[ >>]
1000000000: een miljard[ >>]
2000000000: << miljard[ >>]
1000000000000: een biljoen[ >>]
2000000000000: << biljoen[ >>]
unit:
0: nul; eenen; tweeën; drieën; vieren; vijfen; zesen; zevenen; achten; negenen
)";

constexpr std::array<Ending, 18> kDutchOrdinals{{{"nul", "nuld"},
                                                 {"één", "eerst"},
                                                 {"twee", "tweed"},
                                                 {"drie", "derd"},
                                                 {"vier", "vierd"},
                                                 {"vijf", "vijfd"},
                                                 {"zes", "zesd"},
                                                 {"zeven", "zevend"},
                                                 {"acht", "achtst"},
                                                 {"negen", "negend"},
                                                 {"tien", "tiend"},
                                                 {"elf", "elfd"},
                                                 {"twaalf", "twaalfd"},
                                                 {"ig", "igst"},
                                                 {"erd", "erdst"},
                                                 {"end", "endst"},
                                                 {"joen", "joenst"},
                                                 {"rd", "rdst"}}};

constexpr MoneyTable kDutchMoney{.separator = ",",
                                 .gbp = {{"pond", "", "pond"}, {"penny", "", "penny"}},
                                 .usd = {{"dollar", "", "dollar"}, {"cent", "", "cent"}},
                                 .eur = {{"euro", "", "euro"}, {"cent", "", "cent"}}};

std::string dutch_cardinal(std::uint64_t number) {
  static const SpellRules rules(kDutchRules);
  return rules.spell(number);
}

std::string dutch_ordinal(std::uint64_t number) {
  std::string words = dutch_cardinal(number);
  replace_ending(words, kDutchOrdinals);
  return words + "e";
}

std::string dutch_decimal(const Decimal& number) {
  return spell_decimal(number, "komma", dutch_cardinal);
}

std::optional<std::string> dutch_amount(const Amount& amount, Currency currency) {
  return spell_money(amount, kDutchMoney.names(currency), kDutchMoney.separator, dutch_cardinal);
}

}  // namespace

constinit const NumberWords kEnglishNumbers{english_cardinal, english_ordinal, english_decimal,
                                            english_amount};
constinit const NumberWords kGermanNumbers{german_cardinal, german_ordinal, german_decimal,
                                           german_amount};
constinit const NumberWords kDutchNumbers{dutch_cardinal, dutch_ordinal, dutch_decimal,
                                          dutch_amount};

}  // namespace myxtts
