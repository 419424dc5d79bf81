// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/effective_config.h"
#include "device/start_messages.h"
#include "run/run_directory.h"

namespace myxtts {

// Writes RUN/config.yaml. Throws DataError.
void write_settings(const RunDirectory& run, const EffectiveConfig& config);

// Each line on its own, to the screen and to RUN/log.txt.
void say(const Lines& lines);

// What continues the run: "myxtts train --config RUN/config.yaml --resume".
std::string resume_command(const RunDirectory& run);

}  // namespace myxtts
