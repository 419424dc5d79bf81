// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace myxtts {

// How often values fall into each of some steps of equal width.
struct Histogram {
  double first = 0.0;                // where the first step begins
  double width = 1.0;                // of a step: 1, 2 or 5 times a power of ten
  std::vector<std::int64_t> counts;  // none where there was no value

  double end_of(std::size_t step) const { return first + width * static_cast<double>(step + 1); }
  std::int64_t highest() const;
};

// At most `most_steps` steps with round borders, from the least value to the greatest. Values that
// are not finite are left out.
Histogram make_histogram(std::span<const double> values, std::size_t most_steps = 24);

}  // namespace myxtts
