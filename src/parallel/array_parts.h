// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace myxtts {

// A part of a flat array.
struct ArrayPart {
  std::int64_t first = 0;
  std::int64_t count = 0;

  friend bool operator==(const ArrayPart&, const ArrayPart&) = default;
};

// What rank `rank` of `size` has of an array of `count` numbers, in multiples of `unit`, which
// divides `count`. The parts of all ranks are the array; they differ by one unit at most.
inline ArrayPart part_of_rank(std::int64_t count, std::int64_t unit, int rank, int size) {
  const std::int64_t units = count / unit;
  const std::int64_t first = units * rank / size * unit;
  return {.first = first, .count = units * (rank + 1) / size * unit - first};
}

}  // namespace myxtts
