// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace myxtts {

// How long steps took, in seconds.
struct StepStatistics {
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
  double highest = 0;
  double variation = 0;  // standard deviation over mean
};

// All zero where there is no step.
StepStatistics statistics_of(std::span<const double> seconds);

// What each more token of a step costs, by the straight line that fits best.
double seconds_a_token(std::span<const double> seconds, std::span<const std::int64_t> tokens);

// How much steps of equal work differ: the variation that is left when what each more token costs,
// by the straight line that fits best, is taken off. Steps of different clips differ by their
// tokens, which is nobody's fault.
double variation_at_equal_work(std::span<const double> seconds,
                               std::span<const std::int64_t> tokens);

}  // namespace myxtts
