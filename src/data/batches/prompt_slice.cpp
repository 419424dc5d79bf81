// SPDX-License-Identifier: Apache-2.0
#include "data/batches/prompt_slice.h"

#include "base/checksum.h"
#include "base/random.h"

namespace myxtts {
namespace {

constexpr std::int64_t kShortestPrompt = 66'150;
constexpr std::int64_t kEvaluationPrompt = 99'225;
constexpr std::int64_t kCode = 1024;  // samples that a code stands for

// A clip that is shorter than the prompt drawn for it gives half of itself.
std::int64_t fitting(std::int64_t length, std::int64_t samples) {
  return samples < length ? samples / 2 : length;
}

}  // namespace

std::uint64_t VisitDraw::key() const {
  FastChecksum clip(static_cast<std::uint64_t>(epoch));
  clip.add(bytes_of(clip_id));
  return seed ^ clip.value();
}

PromptSpan training_prompt(const VisitDraw& draw, std::int64_t samples) {
  const RandomStream random(draw.key(), "data/prompt");
  const std::uint64_t first_draw = std::uint64_t{2} * draw.repeat;
  const auto length = fitting(random.integer(first_draw, kShortestPrompt, kLongestPrompt), samples);
  const auto first = random.integer(first_draw + 1, 0, samples - length);
  return {.first = first, .last = first + length};
}

std::int64_t training_shift(const VisitDraw& draw) {
  return RandomStream(draw.key(), "data/shift").integer(draw.repeat, 0, kCode - 1);
}

ReplacedCodes training_noise(const VisitDraw& draw, double share, std::int64_t count,
                             std::int64_t codes) {
  const RandomStream random(draw.key(), "data/noise");
  const std::uint64_t first_draw = std::uint64_t{draw.repeat} << 32U;
  ReplacedCodes replaced;
  for (std::int64_t place = 0; place < count; ++place) {
    const std::uint64_t index = first_draw + 2 * static_cast<std::uint64_t>(place);
    if (random.uniform(index) >= share) continue;
    replaced.emplace_hint(replaced.end(), place, random.integer(index + 1, 0, codes - 1));
  }
  return replaced;
}

PromptSpan evaluation_prompt(std::int64_t samples) {
  return {.first = 0, .last = fitting(kEvaluationPrompt, samples)};
}

}  // namespace myxtts
