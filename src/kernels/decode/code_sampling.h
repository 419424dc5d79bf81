// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace myxtts {

// How a code is chosen from the logits. The steps are those of docs/internals/decode-engine.md, in
// this order: repetition penalty, then, unless greedy, temperature, top-k, top-p and a draw.
struct SamplingRule {
  bool greedy = false;              // the largest after the penalty; the rest is not used
  float repetition_penalty = 5.0F;  // 1 switches it off
  float temperature = 0.75F;        // above 0; 1 switches it off
  std::int32_t top_k = 50;          // 0 switches it off
  float top_p = 0.85F;              // 1 switches it off
  // Step s of a row is decided by number first_draw + s of RandomStream(seed, stream).
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t first_draw = 0;
  // Nothing is chosen: CodeDecoder::feed() says what comes next.
  bool by_caller = false;
};

// What is done to logits before a code is chosen, in this order, in fp32. A dropped id is -inf.

// Ids of the history become less likely: l < 0 is multiplied by the penalty, else l is divided by
// it. Once for each id, however often it occurs.
void penalise_repetition(std::span<float> logits, std::span<const std::uint8_t> is_in_history,
                         float penalty);
void apply_temperature(std::span<float> logits, float temperature);

// Drops what is below the k-th largest; equals of that stay. At least `least` ids remain.
void keep_top_k(std::span<float> logits, std::int64_t k, std::int64_t least = 1);

// Drops the least likely while they together have at most 1 - p. At least `least` ids remain.
void keep_top_p(std::span<float> logits, double p, std::int64_t least = 1);

// The first of the largest.
std::int64_t likeliest(std::span<const float> logits);

// One id with the probability that softmax gives it; `draw` in [0, 1) decides, with the ids laid
// out in rising order.
std::int64_t draw_from(std::span<const float> logits, double draw);

// exp(l - max) of each in double, and their sum.
double exponentials(std::span<const float> logits, std::vector<double>& values);

// The code that `uniform` in [0, 1) picks. `seen` holds a non-zero byte for each id in the history.
// The plain form of what the kernels compute.
std::int32_t pick_code(std::span<const float> logits, std::span<const std::uint8_t> seen,
                       const SamplingRule& rule, double uniform);

// The probabilities pick_code draws from; a code that cannot come has 0.
std::vector<double> code_probabilities(std::span<const float> logits,
                                       std::span<const std::uint8_t> seen,
                                       const SamplingRule& rule);

}  // namespace myxtts
