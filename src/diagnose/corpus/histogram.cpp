// SPDX-License-Identifier: Apache-2.0
#include "diagnose/corpus/histogram.h"

#include <algorithm>
#include <cmath>

namespace myxtts {
namespace {

double round_width(double range, std::size_t most_steps) {
  const double least = std::max(range, 1e-9) / static_cast<double>(most_steps);
  double power = std::pow(10.0, std::floor(std::log10(least)));
  for (;; power *= 10.0) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * power >= least) return factor * power;
    }
  }
}

std::size_t steps_of(double first, double width, double greatest) {
  return static_cast<std::size_t>(std::floor((greatest - first) / width)) + 1;
}

}  // namespace

std::int64_t Histogram::highest() const {
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

Histogram make_histogram(std::span<const double> values, std::size_t most_steps) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double value) { return std::isfinite(value); });
  if (finite.empty()) return {};
  const auto [least, greatest] = std::minmax_element(finite.begin(), finite.end());

  Histogram histogram{.width = round_width(*greatest - *least, most_steps), .counts = {}};
  histogram.first = std::floor(*least / histogram.width) * histogram.width;
  // Round borders may cost one step more than the range alone.
  for (double grown = 1.01; steps_of(histogram.first, histogram.width, *greatest) > most_steps;) {
    histogram.width =
        round_width(histogram.width * grown * static_cast<double>(most_steps), most_steps);
    histogram.first = std::floor(*least / histogram.width) * histogram.width;
  }
  histogram.counts.resize(steps_of(histogram.first, histogram.width, *greatest));
  for (const double value : finite) {
    const auto step = static_cast<std::size_t>((value - histogram.first) / histogram.width);
    ++histogram.counts[std::min(step, histogram.counts.size() - 1)];
  }
  return histogram;
}

}  // namespace myxtts
