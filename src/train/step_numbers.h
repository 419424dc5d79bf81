// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace myxtts {

// What one step did, as the device tells it later.
struct StepNumbers {
  std::int64_t step = 0;  // counts from 1
  std::vector<double> losses =
      {};                    // as StageTraining::loss_names() calls them; means over the step
  double loss = 0;           // what was trained
  double gradient_norm = 0;  // before clipping
  bool skipped = false;      // loss or gradient was not finite: nothing was changed
  double loss_scale = 1;     // of fp16
};

}  // namespace myxtts
