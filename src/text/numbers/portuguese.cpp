// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"

namespace myxtts {
namespace {

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
  // The peer drops the cents here and then cuts once more, so that 25€ is only "vinte".
  replace_all(words, " e zero cêntimos", "");
  return drop_cents_if_whole(std::move(words), amount, kPortugueseMoney.separator);
}

}  // namespace

constinit const NumberWords kPortugueseNumbers{.cardinal = portuguese_cardinal,
                                               .ordinal = portuguese_ordinal,
                                               .decimal = portuguese_decimal,
                                               .amount = portuguese_amount};

}  // namespace myxtts
