// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "text/language.h"

namespace myxtts {

// From here on a number is read digit by digit.
inline constexpr std::uint64_t kLargestSpelled = 1'000'000'000'000'000;

// A number with a fraction: the nearest double, and the shortest digits that mean that double.
struct Decimal {
  double value = 0;
  std::uint64_t whole = 0;  // below kLargestSpelled
  std::string fraction;     // at least one digit; "0" if the value is integral

  [[nodiscard]] bool integral() const { return fraction == "0"; }
};

enum class Currency { Gbp, Usd, Eur };

// A sum of money, rounded half up to hundredths.
struct Amount {
  Decimal exact;
  std::uint64_t units = 0;
  std::uint64_t cents = 0;
};

struct MoneyTable;

// How one language says numbers. Every function takes numbers below kLargestSpelled.
struct NumberWords {
  std::string (*cardinal)(std::uint64_t);
  std::string (*ordinal)(std::uint64_t);
  std::string_view point = {};  // for spell_decimal(), or
  std::string (*decimal)(const Decimal&) = nullptr;
  const MoneyTable* money = nullptr;  // for spell_money(), or
  std::optional<std::string> (*amount)(const Amount&, Currency) = nullptr;

  // Decimals that a language does not say are left to the steps for whole numbers.
  [[nodiscard]] bool says_decimals() const { return decimal != nullptr || !point.empty(); }
  [[nodiscard]] std::string say_decimal(const Decimal& number) const;

  [[nodiscard]] bool says_amounts() const { return amount != nullptr || money != nullptr; }
  // Nothing for a currency that the language cannot say.
  [[nodiscard]] std::optional<std::string> say_amount(const Amount& sum, Currency currency) const;
};

// Of every language but zh, ja and fa, which have ways of their own.
const NumberWords& number_words(Language language);

// Nothing if the text is no number or its whole part is not below kLargestSpelled. The point is a
// dot.
std::optional<Decimal> read_decimal(std::string_view text);
Amount to_amount(Decimal exact);

// An integer of any length, leading zeros ignored: in words, or digit by digit if it is too large.
std::string spell_integer(std::string_view digits, std::string (*cardinal)(std::uint64_t));

// "one two three": each digit by itself.
std::string spell_digits(std::string_view digits, std::string (*cardinal)(std::uint64_t));

// Reads ASCII digits, at most eighteen of them.
std::uint64_t to_integer(std::string_view digits);

// "twelve point five": the way most languages read a decimal. Only the whole part if it is
// integral.
std::string spell_decimal(const Decimal& number, std::string_view point,
                          std::string (*cardinal)(std::uint64_t));

// The names of a currency and of its hundredth: for one, for few (Slavic) and for many.
struct MoneyNames {
  std::array<std::string_view, 3> unit;
  std::array<std::string_view, 3> cent;

  [[nodiscard]] bool known() const { return !unit[0].empty(); }
};

// Which of three names a count takes: the first for one, the last for everything else.
constexpr std::size_t one_or_many(std::uint64_t count) {
  return count == 1 ? 0 : 2;
}

// The currencies one language can say; a row without names is a currency it cannot.
struct MoneyTable {
  std::string_view separator;  // between units and cents: ",", " und"
  MoneyNames gbp, usd, eur;
  std::size_t (*form)(std::uint64_t) = one_or_many;  // of a name, for a count

  [[nodiscard]] const MoneyNames& names(Currency currency) const;
};

// "five dollars, ten cents", with `units` as the words of the whole number.
std::string join_money(const std::string& units, const Amount& amount, Currency currency,
                       const MoneyTable& table, std::string (*cardinal)(std::uint64_t));

// A whole amount loses everything from the last separator on: "five dollars, zero cents" is said
// "five dollars".
std::string drop_cents_if_whole(std::string words, const Amount& amount,
                                std::string_view separator);

// All of these in their order; nothing for a currency that the language cannot say.
std::optional<std::string> spell_money(const Amount& amount, Currency currency,
                                       const MoneyTable& table,
                                       std::string (*cardinal)(std::uint64_t));

// Every `from` becomes `to`, left to right.
void replace_all(std::string& text, std::string_view from, std::string_view to);

// The first ending that fits becomes another; false if none fits.
using Ending = std::pair<std::string_view, std::string_view>;
bool replace_ending(std::string& word, std::span<const Ending> endings);

// Text with its numbers in words: grouping marks, sums of money, decimals, ordinals, cardinals, in
// this order. For every language but zh, ja and fa. The text is valid UTF-8 in lower case.
std::string expand_numbers(std::string text, Language language);

// The steps by themselves. Each takes time linear in the text, whatever stands in it. Numbers are
// runs of ASCII digits; a sign is never part of one.

// Which mark groups the digits of a number ("1,234.5" or "1.234,5"). coqui-tts' "1.234,5" takes any
// character for the group mark but deletes only dots, so 7x250.125 becomes 7x250125.
enum class Grouping { Comma, Dot };
std::string remove_grouping(std::string text, Grouping grouping);

std::string expand_amounts(std::string text, const NumberWords& words);
std::string expand_decimals(std::string text, const NumberWords& words);
std::string expand_ordinals(std::string text, Language language, const NumberWords& words);
std::string expand_cardinals(std::string text, const NumberWords& words);

constexpr bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}
bool has_ascii_digit(std::string_view text);

// Where the run of ASCII digits that starts at `at` ends.
std::size_t end_of_digits(std::string_view text, std::size_t at);

// The words of each language.

// germanic.cpp
extern const NumberWords kEnglishNumbers;
extern const NumberWords kGermanNumbers;
extern const NumberWords kDutchNumbers;

// romance.cpp
extern const NumberWords kSpanishNumbers;
extern const NumberWords kFrenchNumbers;
extern const NumberWords kItalianNumbers;
extern const NumberWords kPortugueseNumbers;

// slavic.cpp
extern const NumberWords kPolishNumbers;
extern const NumberWords kCzechNumbers;
extern const NumberWords kRussianNumbers;

// turkic_uralic.cpp
extern const NumberWords kTurkishNumbers;
extern const NumberWords kHungarianNumbers;

extern const NumberWords kArabicNumbers;  // arabic.cpp
extern const NumberWords kKoreanNumbers;  // text/korean.cpp
extern const NumberWords kHindiNumbers;   // hindi.cpp

// A currency of a language with ways of its own: its sign, its name and that of its hundredth.
struct CurrencyWords {
  std::string_view sign, unit, cent;
};

// Commas between digits go, and sums in $, £, € and ₹ become words.
std::string expand_hindi_money(std::string text);

}  // namespace myxtts
