// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "text/language.h"
#include "text/numbers/numbers.h"

namespace myxtts {

// Text with its numbers in words: grouping marks, sums of money, decimals, ordinals, cardinals, in
// this order. For every language but zh, ja and fa. The text is valid UTF-8 in lower case.
std::string expand_numbers(std::string text, Language language);

// The steps by themselves. Each takes time linear in the text, whatever stands in it. Numbers are
// runs of ASCII digits; a sign is never part of one.

// Which mark groups the digits of a number ("1,234.5" or "1.234,5"). The peer's "1.234,5" takes any
// character for the group mark but deletes only dots, so 7x250.125 becomes 7x250125.
enum class Grouping { Comma, Dot };
std::string remove_grouping(std::string text, Grouping grouping);

std::string expand_amounts(std::string text, const NumberWords& words);
std::string expand_decimals(std::string text, const NumberWords& words);
std::string expand_ordinals(std::string text, Language language, const NumberWords& words);
std::string expand_cardinals(std::string text, const NumberWords& words);

bool has_ascii_digit(std::string_view text);

// Where the run of ASCII digits that starts at `at` ends.
std::size_t end_of_digits(std::string_view text, std::size_t at);

}  // namespace myxtts
