// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "text/numbers/numbers.h"

namespace myxtts {
namespace {

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

constinit const NumberWords kItalianNumbers{.cardinal = italian_cardinal,
                                            .ordinal = italian_ordinal,
                                            .decimal = italian_decimal,
                                            .amount = italian_amount};

}  // namespace myxtts
