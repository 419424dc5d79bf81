// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/world.h"

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

// Of `cores`, those of one rank: equal parts where there are enough, else one core each in turn.
std::vector<int> share_of(const std::vector<int>& cores, int local_rank, int local_size);

// Of the cores that this process may use, those of one rank, so that ranks neither fight for cores
// nor plan with cores of others. Empty: there is nothing to share.
std::vector<int> own_cores(const World& world);

// Keeps the calling thread, and those that it starts from now on, to them; empty: to nothing. May
// be called between fork() and exec().
void keep_to_cores(const std::vector<int>& cores);

// Both for a rank of some launcher: nothing where that has kept it to some cores already.
void keep_to_share_of_cores(const World& world);

}  // namespace myxtts
