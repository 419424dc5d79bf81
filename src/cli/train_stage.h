// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config/effective_config.h"
#include "device/device_plan.h"
#include "run/run_directory.h"
#include "run/training_state.h"
#include "session/training_run.h"

namespace myxtts {

// How the training of a stage ended.
struct StageEnding {
  enum class Kind { Done, OutOfTime, Interrupted };
  Kind kind = Kind::Done;
  int signal = 0;  // that interrupted it
  TrainingState state = {};
};

// Trains one stage into a run directory, from the start or from where --resume says, until its end,
// a signal or the end of its time, and prints what it did. With --mode auto the placement is
// measured first. Each rank of this process has a plan: there is one, or there are several that are
// threads.
StageEnding train_stage(const EffectiveConfig& settings, const std::vector<DevicePlan>& planned,
                        const RunDirectory& run, const RunFrame& frame = {});

}  // namespace myxtts
