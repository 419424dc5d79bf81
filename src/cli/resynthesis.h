// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/speaking_flags.h"

namespace myxtts {

// synthesize --resynthesize: says recorded clips again through DVAE, GPT and decoder into a folder.
// The exit code. Throws DataError when a clip could not be said; the others are there then.
int resynthesize(const SpeakingFlags& flags);

}  // namespace myxtts
