// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/model.h"
#include "synth/sampling_settings.h"

namespace myxtts {

// What is done to logits before a code is chosen, in this order, in fp32. A dropped id is -inf.

// Ids in `history` become less likely: l < 0 is multiplied by the penalty, else l is divided by it.
// Once for each id, however often it occurs.
void penalise_repetition(std::span<float> logits, std::span<const std::uint8_t> is_in_history,
                         double penalty);
void apply_temperature(std::span<float> logits, double temperature);

// Drops what is below the k-th largest; equals of that stay. At least `least` ids remain.
void keep_top_k(std::span<float> logits, std::int64_t k, std::int64_t least);

// Drops the least likely while they together have at most 1 - p. At least `least` ids remain.
void keep_top_p(std::span<float> logits, double p, std::int64_t least);

// log softmax in place.
void to_log_probabilities(std::span<float> logits);

// The first of the largest.
std::int64_t likeliest(std::span<const float> logits);

// One id with the probability that softmax gives it; `draw` in [0, 1) decides.
std::int64_t draw_from(std::span<const float> logits, double draw);

// The codes a row has had, as the penalty sees them. Id 1 and the start code are in it from the
// beginning: the public model was tuned with a generator that filled the place of the prefix so.
class CodeHistory {
 public:
  explicit CodeHistory(const GptConfig& config);
  void add(std::int64_t code) { seen_[static_cast<std::size_t>(code)] = 1; }
  std::span<const std::uint8_t> seen() const { return seen_; }

 private:
  std::vector<std::uint8_t> seen_;  // [audio ids]
};

// All of the above in their order, as the settings say; with beams on log probabilities.
void process_logits(std::span<float> logits, const CodeHistory& history,
                    const SamplingSettings& settings);

// The next code of a row. Changes `logits`.
std::int64_t choose_code(std::span<float> logits, const CodeHistory& history,
                         const SamplingSettings& settings, double draw);

// Throws ConfigError that names the flag, its value and what is allowed.
void validate(const SamplingSettings& settings);

}  // namespace myxtts
