// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace myxtts {

// `myxtts encode`: clips become codes, mel spectrograms, conditioning latents and speaker vectors.
Command encode_command();

}  // namespace myxtts
