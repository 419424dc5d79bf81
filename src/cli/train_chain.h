// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/clock.h"
#include "cli/train_stage.h"

namespace myxtts {

// Trains the stages of --stages one after another into a run directory, those that are finished
// left out, until the last one's end, a signal or the deadline. Prints a summary of all.
StageEnding train_chain(const EffectiveConfig& settings, const RunDirectory& run,
                        const std::optional<Clock::Time>& deadline);

}  // namespace myxtts
