// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "data/clip.h"

namespace myxtts::test {

// Clips as long as sentences of books that are read aloud: 12 to 183 characters, a third of them
// give or take, 14.5 a second give or take a tenth, two to a token.
inline std::vector<ClipRow> generated_clips(std::size_t count, std::uint64_t seed = 1) {
  const RandomStream random(seed, "generated clips");
  std::vector<ClipRow> clips;
  for (std::size_t i = 0; i < count; ++i) {
    const double characters = std::clamp(100.0 + 34.0 * random.normal(2 * i), 12.0, 183.0);
    const double pace = 14.5 * (1.0 + 0.1 * random.normal(2 * i + 1));
    const double seconds = std::clamp(characters / pace, 0.5, 11.6);
    clips.push_back({.id = fmt::format("clip-{:06}", i),
                     .audio = fmt::format("/corpus/wavs/clip-{:06}.wav", i),
                     .text = fmt::format("Sentence number {}.", i),
                     .speaker = fmt::format("speaker-{}", i % 5),
                     .language = i % 3 == 0 ? "de" : "en",
                     .manifest = "/corpus/metadata.csv",
                     .line = static_cast<std::int64_t>(i) + 1,
                     .stamp = {.size = 44 + static_cast<std::int64_t>(seconds * 44'100)},
                     .source_frames = static_cast<std::int64_t>(seconds * 22'050),
                     .text_tokens = 1 + static_cast<std::int64_t>(characters / 2)});
  }
  return clips;
}

}  // namespace myxtts::test
