// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/clip.h"

namespace myxtts {

// Clips of one weight, and how many visits they get in an epoch, all together.
//
// Visits go round the clips in the order given, and each epoch goes on where the one before ended:
// a clip is visited floor(visits / clips) or one time more in each epoch, and every clip equally
// often in the long run. With a whole weight every clip has exactly that many visits.
struct VisitGroup {
  std::string name = {};  // for messages
  double weight = 1.0;
  std::vector<ClipNumber> clips;
  std::int64_t visits = 0;  // of an epoch: the weight times the number of clips, rounded

  std::int64_t most_repeats() const;  // visits of one clip in one epoch, at most
};

// One visit of a clip in an epoch.
struct Visit {
  ClipNumber clip = 0;
  std::uint32_t repeat = 0;  // 0 for the clip's first in the epoch

  friend bool operator==(const Visit&, const Visit&) = default;
};

// These clips, each once an epoch.
VisitGroup once_each(std::span<const ClipNumber> clips);

// The visits that a group has in an epoch, in the order of its clips.
void append_visits(const VisitGroup& group, std::int64_t epoch, std::vector<Visit>& visits);

// Every visit of an epoch, group after group. A function of (groups, epoch).
std::vector<Visit> visits_of_epoch(std::span<const VisitGroup> groups, std::int64_t epoch);

// The visits in random order, every order equally likely. A function of its arguments alone:
// `attempt` is counted up where an order is refused.
std::vector<Visit> shuffled(std::span<const Visit> visits, std::uint64_t seed, std::int64_t epoch,
                            std::int64_t attempt = 0);

}  // namespace myxtts
