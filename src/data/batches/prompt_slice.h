// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "model/gpt_rows.h"

namespace myxtts {

// What is drawn at random for one visit of a clip depends on this alone.
struct VisitDraw {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::string_view clip_id;
  std::uint32_t repeat = 0;  // PlannedBatch::repeats

  std::uint64_t key() const;  // of seed, epoch and clip
};

// Note [Where a prompt is cut]
// Here the span is chosen. FeatureStage::make_prompts (pipeline/feature_stage.cpp) cuts it from the
// sound on the data device; of a clip whose codes are cached the collator reads that span alone.

// Where a clip of `samples` at 22,050 Hz gets its prompt from: 3 to 6 s of it, or half of a clip
// that is shorter than that, from anywhere. A function of its arguments alone.
PromptSpan training_prompt(const VisitDraw& draw, std::int64_t samples);

// The first 4.5 s, or half of a shorter clip.
PromptSpan evaluation_prompt(std::int64_t samples);

// How many samples at 22,050 Hz a clip begins later on this visit, less than a code: the same sound
// in other codes, so that a small corpus is not learnt by heart. A function of its arguments alone.
std::int64_t training_shift(const VisitDraw& draw);

// By their places among a clip's codes: the codes that are read there in place of its own.
using ReplacedCodes = std::map<std::int64_t, std::int64_t>;

// Which of a clip's `count` codes are read as which of `codes` others on this visit, about `share`
// of them. A function of its arguments alone.
ReplacedCodes training_noise(const VisitDraw& draw, double share, std::int64_t count,
                             std::int64_t codes);

// What every prompt is padded to.
inline constexpr std::int64_t kLongestPrompt = 132'300;

}  // namespace myxtts
