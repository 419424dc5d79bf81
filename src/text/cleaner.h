// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/language.h"

namespace myxtts {

// Goes up whenever clean_text() or TextEncoder gives another result for any text, so that what was
// computed from an old one is known to be old.
inline constexpr std::uint32_t kCleanerVersion = 1;

// The text as the vocabulary of XTTS expects it: lower case, numbers, abbreviations and symbols in
// words, single spaces. Equal to what the public Python trainer makes of it, slips included, for
// the languages that has; docs/reference/text.md describes what is done in each. A language outside
// the eighteen is cleaned plainly: lower case, composed letters (NFC), plain marks and single
// spaces; numbers and abbreviations stay as they are. Invalid UTF-8 becomes U+FFFD.
//
// Any thread may call it. Takes time linear in the text.
std::string clean_text(std::string_view utf8, Language language);

// "dr." becomes "doctor": the abbreviations of the language, each with its dot, at a word's start.
// The text is valid UTF-8 in lower case.
std::string expand_abbreviations(std::string text, Language language);

// The signs & @ % # $ £ ° become words, and every run of blanks one space, none at either end.
std::string expand_symbols(const std::string& text, Language language);

}  // namespace myxtts
