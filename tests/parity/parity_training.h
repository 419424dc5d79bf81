// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/batches/device_batch.h"
#include "parity/parity_model.h"

namespace myxtts::test {

struct ParityCurve {
  at::Tensor losses;  // [steps, 3] weighted text, codes, sum: as the peer's trainer reports them
  at::Tensor norms;   // [steps] of the gradient, before clipping
};

// Trains the model as the program does, through Trainer, one step for each batch: AdamW of the
// peer's recipe at 1e-4, no dropout. The model's own weights stay as they are.
ParityCurve train(const ParityModel& model, std::vector<DeviceBatch> batches,
                  std::optional<double> clip);

}  // namespace myxtts::test
