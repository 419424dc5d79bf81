// SPDX-License-Identifier: Apache-2.0
// English, German and Dutch.
#include <array>
#include <utility>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"

namespace myxtts {
namespace {

// English
// -------------------------------------------------------------------------------------------

constexpr std::string_view kEnglishRules = R"(
cardinal:
0: zero; one; two; three; four; five; six; seven; eight; nine; ten
11: eleven; twelve; thirteen; fourteen; fifteen; sixteen; seventeen; eighteen; nineteen
20+10: twenty[->>]; thirty[->>]; forty[->>]; fifty[->>]; sixty[->>]; seventy[->>]; eighty[->>]
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

constexpr Ending kEnglishOrdinals[] = {
    {"one", "first"},    {"two", "second"}, {"three", "third"},    {"five", "fifth"},
    {"eight", "eighth"}, {"nine", "ninth"}, {"twelve", "twelfth"}, {"y", "ieth"}};

constexpr MoneyTable kEnglishMoney{
    .separator = ",",
    .gbp = {{"pound sterling", "", "pounds sterling"}, {"penny", "", "pence"}},
    .usd = {{"dollar", "", "dollars"}, {"cent", "", "cents"}},
    .eur = {{"euro", "", "euro"}, {"cent", "", "cents"}}};

constexpr auto english_cardinal = spell_by<kEnglishRules>;

std::string english_ordinal(std::uint64_t number) {
  std::string words = english_cardinal(number);
  return replace_ending(words, kEnglishOrdinals) ? words : words + "th";
}

// German
// --------------------------------------------------------------------------------------------

// coqui-tts counts 101,000 as "einhunderteinstausend"; so does this table.
constexpr std::string_view kGermanRules = R"(
cardinal:
0: null; eins; zwei; drei; vier; fünf; sechs; sieben; acht; neun; zehn
11: elf; zwölf; dreizehn; vierzehn; fünfzehn; sechzehn; siebzehn; achtzehn; neunzehn
20+10: [>unit>und]zwanzig; [>unit>und]dreißig; [>unit>und]vierzig; [>unit>und]fünfzig
60+10: [>unit>und]sechzig; [>unit>und]siebzig; [>unit>und]achtzig; [>unit>und]neunzig
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

constexpr Ending kGermanOrdinals[] = {{"eins", "ers"},    {"drei", "drit"}, {"acht", "ach"},
                                      {"sieben", "sieb"}, {"ig", "igs"},    {"ert", "erts"},
                                      {"end", "ends"},    {"ion", "ions"},  {"nen", "ns"},
                                      {"rde", "rds"},     {"rden", "rds"}};

constexpr MoneyTable kGermanMoney{.separator = " und",
                                  .gbp = {{"Pfund", "", "Pfund"}, {"Penny", "", "Pence"}},
                                  .usd = {{"Dollar", "", "Dollar"}, {"Cent", "", "Cent"}},
                                  .eur = {{"Euro", "", "Euro"}, {"Cent", "", "Cent"}}};

constexpr auto german_cardinal = spell_by<kGermanRules>;

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

std::optional<std::string> german_amount(const Amount& amount, Currency currency) {
  auto words = spell_money(amount, currency, kGermanMoney, german_cardinal);
  replace_all(*words, "eins ", "ein ");
  return words;
}

// Dutch
// ---------------------------------------------------------------------------------------------

constexpr std::string_view kDutchRules = R"(
cardinal:
0: nul; één; twee; drie; vier; vijf; zes; zeven; acht; negen; tien
11: elf; twaalf; dertien; veertien; vijftien; zestien; zeventien; achttien; negentien
20+10: [>unit>]twintig; [>unit>]dertig; [>unit>]veertig; [>unit>]vijftig; [>unit>]zestig
70+10: [>unit>]zeventig; [>unit>]tachtig; [>unit>]negentig
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

constexpr Ending kDutchOrdinals[] = {{"nul", "nuld"},       {"één", "eerst"},    {"twee", "tweed"},
                                     {"drie", "derd"},      {"vier", "vierd"},   {"vijf", "vijfd"},
                                     {"zes", "zesd"},       {"zeven", "zevend"}, {"acht", "achtst"},
                                     {"negen", "negend"},   {"tien", "tiend"},   {"elf", "elfd"},
                                     {"twaalf", "twaalfd"}, {"ig", "igst"},      {"erd", "erdst"},
                                     {"end", "endst"},      {"joen", "joenst"},  {"rd", "rdst"}};

constexpr MoneyTable kDutchMoney{.separator = ",",
                                 .gbp = {{"pond", "", "pond"}, {"penny", "", "penny"}},
                                 .usd = {{"dollar", "", "dollar"}, {"cent", "", "cent"}},
                                 .eur = {{"euro", "", "euro"}, {"cent", "", "cent"}}};

constexpr auto dutch_cardinal = spell_by<kDutchRules>;

std::string dutch_ordinal(std::uint64_t number) {
  std::string words = dutch_cardinal(number);
  replace_ending(words, kDutchOrdinals);
  return words + "e";
}

}  // namespace

constinit const NumberWords kEnglishNumbers{.cardinal = english_cardinal,
                                            .ordinal = english_ordinal,
                                            .point = "point",
                                            .money = &kEnglishMoney};
constinit const NumberWords kGermanNumbers{.cardinal = german_cardinal,
                                           .ordinal = german_ordinal,
                                           .point = "Komma",
                                           .amount = german_amount};
constinit const NumberWords kDutchNumbers{
    .cardinal = dutch_cardinal, .ordinal = dutch_ordinal, .point = "komma", .money = &kDutchMoney};

}  // namespace myxtts
