// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

namespace myxtts {

// Every letter of the sentences that can have a token of its own: no blanks, no controls, nothing
// that Unicode does not know. The sentences are valid UTF-8.
std::set<char32_t> spoken_letters(const std::vector<std::string>& sentences);

std::string utf8_of(char32_t letter);

}  // namespace myxtts
