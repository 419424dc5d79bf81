// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "config/run_config.h"

namespace myxtts {

struct ScheduleSettings {
  ScheduleKind kind = ScheduleKind::Steps;
  double learning_rate = 5e-6;
  std::int64_t warmup_steps = 0;
  std::int64_t last_step = 0;  // where the cosine ends
  // Of training, over all resumes, after which it ends; nothing: no clock ends it.
  std::optional<double> most_seconds = {};
};

// The learning rate of a step (from 0) in an epoch: a pure function, so nothing of it is saved. A
// cosine ends with the last step or with the last second, whichever is nearer; `seconds` of
// training went before and matter to nothing else.
double learning_rate(const ScheduleSettings& settings, std::int64_t step, std::int64_t epoch,
                     double seconds = 0);

}  // namespace myxtts
