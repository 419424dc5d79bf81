// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace myxtts {

// What one step did, as the device tells it later.
struct StepNumbers {
  std::int64_t step = 0;  // counts from 1
  double text_loss = 0;   // means over the targets of the whole step
  double audio_loss = 0;
  double loss = 0;           // what was trained
  double gradient_norm = 0;  // before clipping
  bool skipped = false;      // loss or gradient was not finite: nothing was changed
  double loss_scale = 1;     // of fp16
};

}  // namespace myxtts
