// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace myxtts {

// Hangul in Latin letters, syllable by syllable, with a hyphen where two syllables could be read as
// one: 할인 becomes hal-in. Everything else stays as it is. `text` is valid UTF-8.
std::string romanise_korean(std::string_view text);

}  // namespace myxtts
