// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "device/role_device.h"
#include "model/named_tensors.h"
#include "parallel/rank_team.h"
#include "run/training_state.h"

// What all ranks must have alike. Where one has not, nothing else would notice: sums are made, the
// weights stay equal, and what was trained is wrong. Every rank calls them, and all throw together.

namespace myxtts {

// How long ranks wait for one another, by --rank-timeout.
std::chrono::milliseconds rank_timeout(const RunConfig& config);

// The clips, how they are dealt, and the settings of training. Throws DataError or ConfigError.
void require_equal_data(RankTeam& team, const TrainingState& start, const RunConfig& config);

// Bit for bit. Throws DeviceError.
void require_equal_weights(RankTeam& team, RoleDevice& device, const NamedTensors& weights);

// What took a rank how long since its last note, apart from waiting for other ranks.
struct RankTimes {
  double data = 0;  // seconds that it waited for a batch
  double step = 0;  // seconds that its own part of the step took

  double busy() const { return data + step; }
};

// What a rank sends to the others before each batch, and what follows for all of them, the same on
// each rank.
struct RankNote {
  bool stop = false;                  // somebody wants it to end; any rank's
  bool late = false;                  // the deadline is over; by the clock of rank 0
  bool save = false;                  // the step that this batch is of is to be saved; likewise
  double audio_seconds = 0;           // of its batch; of all batches together
  std::vector<RankTimes> times = {};  // of the rank; of each rank
};

RankNote agree(RankTeam& team, const RankNote& note);
RankNote agreement_of(std::span<const double> notes);  // rank after rank, as agree() sends them

// Finds the rank that holds the others up: all wait for the slowest in every step.
class StragglerWatch {
 public:
  static constexpr std::int64_t kSteps = 50;  // that are looked at together
  static constexpr double kTolerated = 0.15;  // slower than the middle rank

  // A sentence, once those steps are over and a rank is slower in them; else empty.
  std::string add(std::span<const RankTimes> times);

 private:
  std::vector<RankTimes> sums_;
  std::int64_t steps_ = 0;
};

}  // namespace myxtts
