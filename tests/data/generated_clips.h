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

// Clips with lengths such as people read sentences: of 3 to 25 words, 14.5 characters a second give
// or take a fifth, about 3.5 characters to a token, at least half a second and at most 11.6 s.
inline std::vector<ClipRow> generated_clips(std::size_t count, std::uint64_t seed = 1) {
  const RandomStream random(seed, "generated clips");
  std::vector<ClipRow> clips;
  for (std::size_t i = 0; i < count; ++i) {
    const double words = 4.0 + 15.0 * random.uniform(4 * i) + 5.0 * random.uniform(4 * i + 1);
    const double characters = words * (5.0 + 1.2 * random.normal(4 * i + 2) / std::max(words, 1.0));
    const double seconds =
        std::clamp(characters / 14.5 * (1.0 + 0.2 * random.normal(4 * i + 3)), 0.5, 11.6);
    clips.push_back(
        {.id = fmt::format("clip-{:06}", i),
         .audio = fmt::format("/corpus/wavs/clip-{:06}.wav", i),
         .text = fmt::format("Sentence number {}.", i),
         .speaker = fmt::format("speaker-{}", i % 5),
         .manifest = "/corpus/metadata.csv",
         .line = static_cast<std::int64_t>(i) + 1,
         .stamp = {.size = 44 + static_cast<std::int64_t>(seconds * 44'100)},
         .source_frames = static_cast<std::int64_t>(seconds * 22'050),
         .text_tokens = std::max<std::int64_t>(3, static_cast<std::int64_t>(characters / 3.5))});
  }
  return clips;
}

}  // namespace myxtts::test
