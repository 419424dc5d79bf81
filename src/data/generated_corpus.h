// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace myxtts {

// A corpus where a person gave none, in the layout of LJSpeech: wavering tones of as varied lengths
// as read sentences have, with made-up texts that fit them. Good for measuring and for nothing
// else. The shortest and the longest are in seconds. Shows progress. Throws DataError.
void generate_corpus(const std::filesystem::path& folder, std::int64_t clips, double shortest = 1.5,
                     double longest = 11.0);

}  // namespace myxtts
