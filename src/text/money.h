// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "text/numbers.h"

namespace myxtts {

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

}  // namespace myxtts
