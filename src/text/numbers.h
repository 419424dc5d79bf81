// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace myxtts
