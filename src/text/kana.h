// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace myxtts {

// What ends a word whose last kana, っ, doubles the first letter of the next word.
inline constexpr std::string_view kOpenDoubling = "っ";

// One word of kana, katakana or hiragana, in Latin letters (Hepburn): きょう becomes kyou. Kana
// that is written in no word is left out. `kana` is valid UTF-8.
std::string romanise_kana(std::string_view kana);

// The mark of a text in Japanese as a Latin one: 。 is a full stop. Nothing for any other.
std::optional<std::string_view> latin_mark(std::string_view mark);

}  // namespace myxtts
