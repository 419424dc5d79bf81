// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace myxtts {
namespace {

// Names are ASCII; a byte outside it is kept as it is.
std::string folded(std::string_view name) {
  std::string result(name);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (letter == '_') letter = '-';
  }
  return result;
}

// Insertions, deletions, replacements and swaps of neighbours that turn one into the other (optimal
// string alignment: no letter is touched twice).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Beyond a third of the longer name a suggestion would be a guess.
bool near_enough(std::size_t distance, std::size_t length_a, std::size_t length_b) {
  return distance <= std::max<std::size_t>(1, std::max(length_a, length_b) / 3) &&
         distance < std::min(length_a, length_b);
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view wrong,
                                        std::span<const std::string> known) {
  const std::string asked = folded(wrong);
  std::optional<std::string> nearest;
  std::size_t least = 0;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(asked, folded(name));
    if (!near_enough(distance, asked.size(), name.size())) continue;
    if (nearest && distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

}  // namespace myxtts
