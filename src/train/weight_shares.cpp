// SPDX-License-Identifier: Apache-2.0
#include "train/weight_shares.h"

#include <ATen/ATen.h>

#include "kernels/adamw.h"

namespace myxtts {

WeightShares::WeightShares(RankTeam& team, Parameters& parameters, bool in_parts)
    : team_(team), parameters_(parameters), in_parts_(in_parts) {}

void WeightShares::begin_with_equal_weights() const {
  team_.broadcast(parameters_.weights());
  parameters_.refresh_copy();
}

void WeightShares::gather_weights() const {
  if (!in_parts_) return;
  gather(parameters_.weights(), 1);
  parameters_.refresh_copy();
}

void WeightShares::gather(const at::Tensor& flat, std::int64_t unit) const {
  const int size = team_.world().size;
  for (int rank = 0; rank < size; ++rank) {
    const auto part = part_of_rank(parameters_.layout().trained, kAdamWAlignment, rank, size);
    if (part.count == 0) continue;
    const auto numbers = flat.narrow(0, part.first / unit, part.count / unit);
    team_.broadcast(numbers.view(at::kByte), rank);
  }
}

ArrayPart own_share(const RankTeam& team, std::int64_t trained) {
  return part_of_rank(trained, kAdamWAlignment, team.world().rank, team.world().size);
}

}  // namespace myxtts
