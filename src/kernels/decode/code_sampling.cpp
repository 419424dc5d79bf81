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

// The logits that a code is chosen from.
std::vector<float> processed(std::span<const float> logits, std::span<const std::uint8_t> seen,
                             const SamplingRule& rule) {
  std::vector<float> left(logits.begin(), logits.end());
  penalise_repetition(left, seen, rule.repetition_penalty);
  if (rule.greedy) return left;
  apply_temperature(left, rule.temperature);
  if (rule.top_k > 0) keep_top_k(left, rule.top_k);
  if (rule.top_p < 1.0F) keep_top_p(left, double{rule.top_p});
  return left;
}

}  // namespace

void penalise_repetition(std::span<float> logits, std::span<const std::uint8_t> is_in_history,
                         float penalty) {
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (is_in_history[id] == 0) continue;
    logits[id] = logits[id] < 0.0F ? logits[id] * penalty : logits[id] / penalty;
  }
}

void apply_temperature(std::span<float> logits, float temperature) {
  for (float& logit : logits) logit /= temperature;
}

double exponentials(std::span<const float> logits, std::vector<double>& values) {
  const float most = *std::ranges::max_element(logits);
  values.resize(logits.size());
  std::ranges::transform(logits, values.begin(), [most](float logit) {
    return std::exp(static_cast<double>(logit) - static_cast<double>(most));
  });
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void keep_top_k(std::span<float> logits, std::int64_t k, std::int64_t least) {
  const auto kept = static_cast<std::size_t>(std::max(k, least));
  if (kept >= logits.size()) return;
  std::vector<float> sorted(logits.begin(), logits.end());
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(kept) - 1;
  std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
  for (float& logit : logits) {
    if (logit < *last) logit = kDropped;
  }
}

void keep_top_p(std::span<float> logits, double p, std::int64_t least) {
  std::vector<double> likelihood;
  const double sum = exponentials(logits, likelihood);
  std::vector<std::size_t> order;  // ids that are not dropped yet, the least likely first
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] != kDropped) order.push_back(id);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t id) { return logits[id]; });
  const auto limit = static_cast<float>(1.0 - p);
  double below = 0.0;
  for (std::size_t i = 0; i + static_cast<std::size_t>(least) < order.size(); ++i) {
    below += likelihood[order[i]] / sum;
    if (static_cast<float>(below) > limit) return;
    logits[order[i]] = kDropped;
  }
}

std::int64_t likeliest(std::span<const float> logits) {
  return std::ranges::max_element(logits) - logits.begin();
}

std::int64_t draw_from(std::span<const float> logits, double draw) {
  std::vector<double> likelihood;
  double left = draw * exponentials(logits, likelihood);
  std::size_t chosen = 0;
  for (std::size_t id = 0; id < likelihood.size(); ++id) {
    if (likelihood[id] == 0.0) continue;
    chosen = id;  // the last one that can be, should rounding leave something over
    left -= likelihood[id];
    if (left < 0.0) break;
  }
  return static_cast<std::int64_t>(chosen);
}

std::vector<double> code_probabilities(std::span<const float> logits,
                                       std::span<const std::uint8_t> seen,
                                       const SamplingRule& rule) {
  const auto left = processed(logits, seen, rule);
  std::vector<double> probabilities(left.size());
  if (rule.greedy) {
    probabilities[static_cast<std::size_t>(likeliest(left))] = 1.0;
    return probabilities;
  }
  const double sum = exponentials(left, probabilities);
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

std::int32_t pick_code(std::span<const float> logits, std::span<const std::uint8_t> seen,
                       const SamplingRule& rule, double uniform) {
  const auto left = processed(logits, seen, rule);
  return static_cast<std::int32_t>(rule.greedy ? likeliest(left) : draw_from(left, uniform));
}

}  // namespace myxtts
