// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "data/device_batch.h"
#include "train/gpt_training.h"

namespace myxtts {

// Means over all tokens of the clips that were measured on, however these lay in batches.
struct ValidationLosses {
  double text = 0;
  double audio = 0;
  double total = 0;  // what training would weigh them to
  std::int64_t clips = 0;
};

// Measures on the batches that `next` gives until it gives null. The sums stay on the device, in
// double, until the last batch is queued; then it waits. Throws DataError when there was no target.
ValidationLosses measure(GptTraining& training, const std::function<DeviceBatch*()>& next);

}  // namespace myxtts
