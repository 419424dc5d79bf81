// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/device_batch.h"
#include "train/stage_training.h"

namespace myxtts {

// Means over all that was measured on, however it lay in batches.
struct ValidationLosses {
  std::vector<double> losses = {};  // as loss_names() calls them
  double total = 0;                 // what training would weigh them to
  std::int64_t clips = 0;
};

// Sums a CPU tensor over all ranks, in place; nothing where there is one.
using SumOverRanks = std::function<void(const at::Tensor&)>;

// Measures on the batches that `next` gives until it gives null. The sums stay on the device, in
// double, until the last batch is queued; then it waits. Every rank measures on its own share, and
// all get the same. Throws DataError when there was no target.
ValidationLosses measure(StageTraining& training, const std::function<DeviceBatch*()>& next,
                         const SumOverRanks& sum = {});

}  // namespace myxtts
