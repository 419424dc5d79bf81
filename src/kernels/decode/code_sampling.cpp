// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode/code_sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace myxtts {
namespace {

constexpr float kDropped = -std::numeric_limits<float>::infinity();

std::vector<float> penalised(std::span<const float> logits, std::span<const std::uint8_t> seen,
                             float penalty) {
  std::vector<float> result(logits.begin(), logits.end());
  for (std::size_t id = 0; id < result.size(); ++id) {
    if (seen[id] == 0) continue;
    result[id] = result[id] < 0 ? result[id] * penalty : result[id] / penalty;
  }
  return result;
}

void keep_top_k(std::vector<float>& logits, std::int32_t count) {
  if (count <= 0 || static_cast<std::size_t>(count) >= logits.size()) return;
  auto sorted = logits;
  std::nth_element(sorted.begin(), sorted.begin() + (count - 1), sorted.end(), std::greater<>());
  const float least = sorted[static_cast<std::size_t>(count - 1)];
  for (float& logit : logits) logit = logit < least ? kDropped : logit;
}

std::vector<double> softmax(const std::vector<float>& logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  std::vector<double> result;
  double sum = 0;
  for (const float logit : logits) sum += result.emplace_back(std::exp(double{logit} - most));
  for (double& probability : result) probability /= sum;
  return result;
}

// Drops the smallest whose probabilities sum to at most 1 - top_p; the largest always stays.
void keep_top_p(std::vector<float>& logits, float top_p) {
  if (top_p >= 1.0F) return;
  const auto probabilities = softmax(logits);
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] < logits[b]; });
  double sum = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    sum += probabilities[order[i]];
    if (static_cast<float>(sum) > 1.0F - top_p) break;
    logits[order[i]] = kDropped;
  }
}

}  // namespace

std::vector<double> code_probabilities(std::span<const float> logits,
                                       std::span<const std::uint8_t> seen,
                                       const SamplingRule& rule) {
  auto left = penalised(logits, seen, rule.repetition_penalty);
  if (rule.greedy) {
    std::vector<double> certain(left.size());
    certain[static_cast<std::size_t>(std::max_element(left.begin(), left.end()) - left.begin())] =
        1.0;
    return certain;
  }
  for (float& logit : left) logit /= rule.temperature;
  keep_top_k(left, rule.top_k);
  keep_top_p(left, rule.top_p);
  return softmax(left);
}

std::int32_t pick_code(std::span<const float> logits, std::span<const std::uint8_t> seen,
                       const SamplingRule& rule, double uniform) {
  const auto probabilities = code_probabilities(logits, seen, rule);
  std::int32_t chosen = 0;
  double sum = 0;
  for (std::size_t id = 0; id < probabilities.size(); ++id) {
    if (probabilities[id] <= 0.0) continue;
    chosen = static_cast<std::int32_t>(id);
    sum += probabilities[id];
    if (sum > uniform) break;
  }
  return chosen;
}

}  // namespace myxtts
