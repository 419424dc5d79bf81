// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace myxtts {

// How codes are chosen from logits. The defaults are the public XTTS v2's; see synth/sampling.h for
// what each does, and in which order.
struct SamplingSettings {
  bool greedy = false;              // the likeliest code always; only repetition_penalty counts
  double temperature = 0.75;        // above 0; 1: no change
  std::int64_t top_k = 50;          // 0: no limit
  double top_p = 0.85;              // in (0, 1]; 1: no limit
  double repetition_penalty = 5.0;  // above 0; 1: none
  double length_penalty = 1.0;      // of beams alone
  std::int64_t beams = 1;           // more than 1: beam search, or beam sampling if not greedy
  std::uint64_t seed = 1;

  bool operator==(const SamplingSettings&) const = default;
};

// The random stream of every draw.
inline constexpr const char* kSamplingStream = "synth/code";

// The random number in [0, 1) that chooses code `step` (from 0) of the text with this number. Of
// nothing else, so that a text sounds the same alone and among others.
double sampling_draw(std::uint64_t seed, std::uint32_t text_number, std::uint32_t step);

}  // namespace myxtts
