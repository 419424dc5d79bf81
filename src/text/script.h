// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "text/language.h"

namespace myxtts {

// The writing system that most letters of a text are of, by its English name: "Latin", "Arabic",
// "Cyrillic", "Han". Empty for a text without letters. Only the first few hundred are looked at.
std::string_view script_of(std::string_view utf8);

// Whether texts of the language are written so. A language outside the eighteen uses every script:
// nothing is known of it.
bool uses_script(Language language, std::string_view script);

// Which of the eighteen a text in that script is most likely of, by its letters; empty where the
// script has none of them, or too many to tell (Latin).
std::string likely_language(std::string_view utf8, std::string_view script);

}  // namespace myxtts
