// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace myxtts {

struct GeneratedCorpus {
  std::int64_t clips = 64;
  double shortest = 1.5;  // seconds
  double longest = 11.0;
  std::uint64_t seed = 0;
};

// A corpus where a person gave none, in the layout of LJSpeech: wavering tones of as varied lengths
// as read sentences have, with made-up texts that fit them. Good for measuring and for nothing
// else. Shows progress. Throws DataError.
void generate_corpus(const std::filesystem::path& folder, const GeneratedCorpus& settings);

}  // namespace myxtts
