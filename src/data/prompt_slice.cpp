// SPDX-License-Identifier: Apache-2.0
#include "data/prompt_slice.h"

#include "base/checksum.h"
#include "base/random.h"

namespace myxtts {
namespace {

constexpr std::int64_t kShortestPrompt = 66'150;
constexpr std::int64_t kEvaluationPrompt = 99'225;

// A clip that is shorter than the prompt drawn for it gives half of itself.
std::int64_t fitting(std::int64_t length, std::int64_t samples) {
  return samples < length ? samples / 2 : length;
}

}  // namespace

PromptSpan training_prompt(const PromptDraw& draw, std::int64_t samples) {
  FastChecksum clip(static_cast<std::uint64_t>(draw.epoch));
  clip.add(bytes_of(draw.clip_id));
  const RandomStream random(draw.seed ^ clip.value(), "data/prompt");
  const std::uint64_t first_draw = std::uint64_t{2} * draw.repeat;
  const auto length = fitting(random.integer(first_draw, kShortestPrompt, kLongestPrompt), samples);
  const auto first = random.integer(first_draw + 1, 0, samples - length);
  return {.first = first, .last = first + length};
}

PromptSpan evaluation_prompt(std::int64_t samples) {
  return {.first = 0, .last = fitting(kEvaluationPrompt, samples)};
}

}  // namespace myxtts
