// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config/train.h"

namespace myxtts {

struct ScheduleSettings {
  ScheduleKind kind = ScheduleKind::Steps;
  double learning_rate = 5e-6;
  std::int64_t warmup_steps = 0;
  std::int64_t last_step = 0;  // where the cosine ends
};

// The learning rate of a step (from 0) in an epoch: a pure function, so nothing of it is saved.
double learning_rate(const ScheduleSettings& settings, std::int64_t step, std::int64_t epoch);

}  // namespace myxtts
