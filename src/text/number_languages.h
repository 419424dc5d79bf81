// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text/numbers.h"

namespace myxtts {

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
