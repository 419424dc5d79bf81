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

double variation_at_equal_work(std::span<const double> seconds,
                               std::span<const std::int64_t> tokens) {
  std::vector<double> rates;
  for (std::size_t step = 0; step < std::min(seconds.size(), tokens.size()); ++step) {
    if (tokens[step] > 0) rates.push_back(seconds[step] / static_cast<double>(tokens[step]));
  }
  return statistics_of(rates).variation;
}

}  // namespace myxtts
