// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace myxtts {

// Which order the visits of an epoch have. With the corpus, the seed and the epoch it says all of
// it, whatever settings it came from.
struct EpochOrder {
  std::int64_t attempt = 0;  // that of OrderDraw
  std::int64_t dealt = 0;    // to steps of how many visits they were dealt by length; 0: they were
                             // not

  friend bool operator==(const EpochOrder&, const EpochOrder&) = default;
};

// Where batches of some settings begin.
//
// Note [An epoch divided anew]
// How many ranks and clips make a step may change in the middle of an epoch, when a run is resumed.
// The epoch keeps its order then, those settings' own choice or not: the visits that were consumed
// are left out, and the rest is divided into steps of the new size. A step that would be beyond the
// limit of Note [Steps that fit] ends before the clip that is too much, so that the rest may take a
// few steps more. The next epoch is as if the new settings had always been.
struct EpochStart {
  std::int64_t epoch = 0;
  std::int64_t visits = 0;               // of its visits, over all ranks, consumed before
  std::optional<EpochOrder> order = {};  // nothing: as the settings would have it

  friend bool operator==(const EpochStart&, const EpochStart&) = default;
};

}  // namespace myxtts
