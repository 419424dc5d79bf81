// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/speaking.h"
#include "cli/speaking_flags.h"
#include "synth/speaking_model.h"

namespace myxtts {

// What --text or --text-file asks for, each text with the file it goes to; blank lines are left
// out. Throws DataError, and ConfigError when nothing is left or an id names no file.
std::vector<SpeakingJob> make_jobs(const SpeakingFlags& flags, const SpeakingModel& model);

}  // namespace myxtts
