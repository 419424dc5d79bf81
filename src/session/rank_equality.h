// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/run_config.h"
#include "device/role_device.h"
#include "model/named_tensors.h"
#include "parallel/rank_team.h"
#include "run/training_state.h"

// What all ranks must have alike. Where one has not, nothing else would notice: sums are made, the
// weights stay equal, and what was trained is wrong. Every rank calls them, and all throw together.

namespace myxtts {

// The clips, how they are dealt, and the settings of training. Throws DataError or ConfigError.
void require_equal_data(RankTeam& team, const TrainingState& start, const RunConfig& config);

// Bit for bit. Throws DeviceError.
void require_equal_weights(RankTeam& team, RoleDevice& device, const NamedTensors& weights);

}  // namespace myxtts
