// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "parallel/array_parts.h"
#include "parallel/rank_team.h"
#include "train/parameters.h"

namespace myxtts {

// Who of several ranks updates which part of a model's trained numbers, and how the others get it.
// With parts, a rank keeps AdamW's averages of its own alone. Team and parameters outlive it; the
// trainer's thread only.
class WeightShares {
 public:
  // `in_parts`: --shard-optimiser; else every rank updates all.
  WeightShares(RankTeam& team, Parameters& parameters, bool in_parts);

  // Rank 0's weights for all: every rank made or read the same, and those are the ones that count.
  void begin_with_equal_weights() const;

  // After an update: every part from the rank that made it.
  void gather_weights() const;

  // The same for another flat array of the trained numbers, of which one stands for `unit` of them.
  void gather(const at::Tensor& flat, std::int64_t unit) const;

 private:
  RankTeam& team_;
  Parameters& parameters_;
  const bool in_parts_;
};

// The part of `trained` numbers that this rank updates.
ArrayPart own_share(const RankTeam& team, std::int64_t trained);

}  // namespace myxtts
