// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "parallel/array_parts.h"
#include "parallel/rank_tensors.h"
#include "train/parameters.h"

namespace myxtts {

// Who of several ranks updates which part of a model's trained numbers, and how the others get it.
// With parts, a rank keeps AdamW's averages of its own alone. Tensors and parameters outlive it;
// the trainer's thread only, with work of the role.
class WeightShares {
 public:
  // `in_parts`: --shard-optimiser; else every rank updates all.
  WeightShares(int ranks, RankTensors& tensors, Parameters& parameters, bool in_parts);

  // Rank 0's weights for all: every rank made or read the same, and those are the ones that count.
  void begin_with_equal_weights() const;

  // After an update: every part from the rank that made it.
  void gather_weights() const;

  // The same for another flat array of the trained numbers, of which one stands for `unit` of them.
  void gather(const at::Tensor& flat, std::int64_t unit) const;

 private:
  const int ranks_;
  RankTensors& tensors_;
  Parameters& parameters_;
  const bool in_parts_;
};

// The part of `trained` numbers that this rank updates.
ArrayPart own_share(const World& world, std::int64_t trained);

}  // namespace myxtts
