// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "text/vocabulary.h"

namespace myxtts {

// A clip that samples are made of.
struct SampleClip {
  std::filesystem::path audio;
  std::string text;
  std::string language;
  std::int64_t samples = 0;       // at kModelRate
  std::vector<std::int64_t> ids;  // of the text, with the language's tag
};

// The first `count` clips that are held back from training (of all clips where none is), those of
// two to eight seconds before others. The same for the same corpus.
std::vector<SampleClip> sample_clips(const Corpus& corpus, const Vocabulary& vocabulary,
                                     std::int64_t count);

// The clip whose voice speaks sentences that have none of their own: the first of three seconds and
// more, else the longest.
std::filesystem::path reference_clip(const Corpus& corpus);

}  // namespace myxtts
