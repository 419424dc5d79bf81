// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/step_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace myxtts {
namespace {

// Linear between the two nearest.
double percentile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace

StepStatistics statistics_of(std::span<const double> seconds) {
  if (seconds.empty()) return {};
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::ranges::sort(sorted);
  const auto count = static_cast<double>(sorted.size());
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  double squares = 0;
  for (const double value : sorted) squares += (value - mean) * (value - mean);
  return {.mean = mean,
          .p50 = percentile(sorted, 0.5),
          .p99 = percentile(sorted, 0.99),
          .highest = sorted.back(),
          .variation = mean > 0 ? std::sqrt(squares / count) / mean : 0.0};
}

double seconds_a_token(std::span<const double> seconds, std::span<const std::int64_t> tokens) {
  const std::size_t count = std::min(seconds.size(), tokens.size());
  const std::vector<double> work(tokens.begin(),
                                 tokens.begin() + static_cast<std::ptrdiff_t>(count));
  const double mean_time = statistics_of(seconds.first(count)).mean;
  const double mean_work = statistics_of(work).mean;
  double together = 0;
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    together += (work[i] - mean_work) * (seconds[i] - mean_time);
    squares += (work[i] - mean_work) * (work[i] - mean_work);
  }
  return squares > 0 ? std::max(0.0, together / squares) : 0.0;
}

double variation_at_equal_work(std::span<const double> seconds,
                               std::span<const std::int64_t> tokens) {
  const double a_token = seconds_a_token(seconds, tokens);
  std::vector<double> alike;  // each step as it would be with as many tokens as the first
  for (std::size_t i = 0; i < std::min(seconds.size(), tokens.size()); ++i) {
    alike.push_back(seconds[i] - a_token * static_cast<double>(tokens[i] - tokens[0]));
  }
  const StepStatistics steps = statistics_of(alike);
  const double mean = statistics_of(seconds).mean;
  return mean > 0 ? steps.variation * steps.mean / mean : 0.0;
}

}  // namespace myxtts
