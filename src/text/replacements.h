// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "text/language.h"

namespace myxtts {

// "dr." becomes "doctor": the abbreviations of the language, each with its dot, at a word's start.
// The text is valid UTF-8 in lower case.
std::string expand_abbreviations(std::string text, Language language);

// The signs & @ % # $ £ ° become words, and every run of blanks one space, none at either end.
std::string expand_symbols(const std::string& text, Language language);

}  // namespace myxtts
