// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "parallel/world.h"

namespace myxtts {

// Of `cores`, those of one rank: equal parts where there are enough, else one core each in turn.
std::vector<int> share_of(const std::vector<int>& cores, int local_rank, int local_size);

// Keeps this process, and threads that it starts from now on, to its share of the host's cores, so
// that ranks neither fight for cores nor plan with cores of others. Nothing where the launcher has
// kept it to some of them already.
void keep_to_share_of_cores(const World& world);

}  // namespace myxtts
