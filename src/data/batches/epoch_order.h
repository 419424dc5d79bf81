// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/batches/visit_group.h"

namespace myxtts {

// Which random order of an epoch: `attempt` is counted up where one is refused.
struct OrderDraw {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t attempt = 0;
};

// Every visit of an epoch, group after group. A function of (groups, epoch).
std::vector<Visit> visits_of_epoch(std::span<const VisitGroup> groups, std::int64_t epoch);

// The visits in random order, every order equally likely. A function of (visits, draw).
std::vector<Visit> shuffled(std::span<const Visit> visits, const OrderDraw& draw);

}  // namespace myxtts
