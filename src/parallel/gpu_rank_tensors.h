// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "parallel/rank_tensors.h"

namespace myxtts {

// Of ranks that have a GPU each.
std::unique_ptr<RankTensors> make_gpu_rank_tensors(RankTeam& team, RoleDevice& device);

}  // namespace myxtts
