// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "text/language.h"

namespace myxtts {

// A piece of a text, in code points.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Words, marks and odd blanks of a text in order, so that a full stop that ends a sentence stands
// alone and one that belongs to a number or an abbreviation does not. The single space after a word
// is in no span; any other blank is one of its own.
std::vector<TextSpan> word_tokens(std::u32string_view text, Language language);

}  // namespace myxtts
