// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "config/effective_config.h"
#include "device/plan/device_plan.h"
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

// Trains the stages of --stages one after another into a run directory, those that are finished
// left out, until the last one's end, a signal or the deadline. Prints a summary of all.
StageEnding train_chain(const EffectiveConfig& settings, const RunDirectory& run,
                        const std::optional<Clock::Time>& deadline);

}  // namespace myxtts
