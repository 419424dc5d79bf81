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

// The code that `uniform` in [0, 1) picks. `seen` holds a non-zero byte for each id in the history.
// The plain form of what the kernels compute; codes are laid out by rising id for the draw.
std::int32_t pick_code(std::span<const float> logits, std::span<const std::uint8_t> seen,
                       const SamplingRule& rule, double uniform);

// The probabilities pick_code draws from; a code that cannot come has 0.
std::vector<double> code_probabilities(std::span<const float> logits,
                                       std::span<const std::uint8_t> seen,
                                       const SamplingRule& rule);

}  // namespace myxtts
