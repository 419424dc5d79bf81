// SPDX-License-Identifier: Apache-2.0
#include "train/weight_shares.h"

#include <ATen/ATen.h>

#include "kernels/adamw.h"

namespace myxtts {

WeightShares::WeightShares(int ranks, RankTensors& tensors, Parameters& parameters, bool in_parts)
    : ranks_(ranks), tensors_(tensors), parameters_(parameters), in_parts_(in_parts) {}

void WeightShares::begin_with_equal_weights() const {
  tensors_.share({parameters_.weights()});
  parameters_.refresh_copy();
}

void WeightShares::gather_weights() const {
  if (!in_parts_) return;
  gather(parameters_.weights(), 1);
  parameters_.refresh_copy();
}

void WeightShares::gather(const at::Tensor& flat, std::int64_t unit) const {
  std::vector<at::Tensor> parts;
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto part = part_of_rank(parameters_.layout().trained, kAdamWAlignment, rank, ranks_);
    parts.push_back(flat.narrow(0, part.first / unit, part.count / unit));
  }
  tensors_.share(parts);
}

ArrayPart own_share(const World& world, std::int64_t trained) {
  return part_of_rank(trained, kAdamWAlignment, world.rank, world.size);
}

}  // namespace myxtts
