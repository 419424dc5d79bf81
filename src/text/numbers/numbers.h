// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// How one language says numbers. Every function takes numbers below kLargestSpelled.
struct NumberWords {
  std::string (*cardinal)(std::uint64_t);
  std::string (*ordinal)(std::uint64_t);
  std::string (*decimal)(const Decimal&);  // null: decimals are left to the other steps
  // Null: the language says no sums of money; gives nothing for a currency it cannot say.
  std::optional<std::string> (*amount)(const Amount&, Currency);
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

// Note [Digits after the point]: the peer computes them from the double, (value - whole) * 10^n,
// and takes the floor unless that is within 0.01 of an integer; for long fractions the last digits
// differ from the written ones.
std::string digits_after_point(const Decimal& number);

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

// The currencies one language can say; a row without names is a currency it cannot.
struct MoneyTable {
  std::string_view separator;  // between units and cents: ",", " und"
  MoneyNames gbp, usd, eur;

  [[nodiscard]] const MoneyNames& names(Currency currency) const;
};

// "five dollars, ten cents" from its four words.
struct MoneyPhrase {
  std::string units;
  std::string_view unit;
  std::string cents;
  std::string_view cent;
};
std::string join_money(const MoneyPhrase& phrase, std::string_view separator);

// A whole amount loses everything from the last separator on: "five dollars, zero cents" is said
// "five dollars".
std::string drop_cents_if_whole(std::string words, const Amount& amount,
                                std::string_view separator);

// The plain case: cardinals, one form for one and one for everything else.
std::string spell_money(const Amount& amount, const MoneyNames& names, std::string_view separator,
                        std::string (*cardinal)(std::uint64_t));

// Every `from` becomes `to`, left to right.
void replace_all(std::string& text, std::string_view from, std::string_view to);

// numbers_germanic.cpp
extern const NumberWords kEnglishNumbers;
extern const NumberWords kGermanNumbers;
extern const NumberWords kDutchNumbers;

// numbers_romance.cpp, numbers_italian.cpp, numbers_portuguese.cpp
extern const NumberWords kSpanishNumbers;
extern const NumberWords kFrenchNumbers;
extern const NumberWords kItalianNumbers;
extern const NumberWords kPortugueseNumbers;

// numbers_slavic.cpp, numbers_russian.cpp
extern const NumberWords kPolishNumbers;
extern const NumberWords kCzechNumbers;
extern const NumberWords kRussianNumbers;

// numbers_turkic_uralic.cpp
extern const NumberWords kTurkishNumbers;
extern const NumberWords kHungarianNumbers;

extern const NumberWords kArabicNumbers;  // numbers_arabic.cpp
extern const NumberWords kKoreanNumbers;  // numbers_korean.cpp
extern const NumberWords kHindiNumbers;   // numbers_hindi.cpp

// Commas between digits go, and sums in $, £, € and ₹ become words.
std::string expand_hindi_money(std::string text);

}  // namespace myxtts
