// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/language.h"

namespace myxtts {

// Long text in pieces that a model can speak in one breath: whole sentences, joined while they fit
// into length_limit(language), and cut at blanks where one alone does not. Text shorter than the
// limit is one piece. Every character but blanks at the ends is in exactly one piece. `text` is
// valid UTF-8.
std::vector<std::string> split_text(std::string_view text, Language language);

}  // namespace myxtts
