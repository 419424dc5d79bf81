// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clips/spoken_words.h"

namespace myxtts {

// Words of one sequence that are words of another: one and one, or one that is written as several.
struct WordMatch {
  std::size_t first = 0;  // of the first sequence
  std::size_t first_count = 1;
  std::size_t second = 0;
  std::size_t second_count = 1;
  std::int64_t errors = 0;   // letters to change
  std::int64_t letters = 0;  // of the longer side
};

// Which words of two sequences, numbers that `spoken` gave, are the same, in order: as many letters
// as possible, in as few stretches as possible. Of a passage that stands twice in the second
// sequence it takes the later. Few matches among many words that have none are taken for chance and
// left out. Time grows with the length, and with the square of passages that nothing divides; where
// such a one has more than 2,000 words on both sides it has no matches.
std::vector<WordMatch> match_words(std::span<const std::int32_t> first,
                                   std::span<const std::int32_t> second, const SpokenWords& spoken);

}  // namespace myxtts
