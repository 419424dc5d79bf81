// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <unicode/unistr.h>

namespace myxtts {

// Persian text with one spelling for each letter, half-spaces where they belong, and numbers,
// dates, times, sums of money, abbreviations and symbols in words. `text` is valid UTF-8.
std::string clean_persian(std::string_view text);

// The numbers by themselves. Digits are ASCII by then.
icu::UnicodeString expand_persian_numbers(icu::UnicodeString text);

std::string persian_cardinal(std::uint64_t number);  // below kLargestSpelled
std::string persian_ordinal(std::uint64_t number);

}  // namespace myxtts
