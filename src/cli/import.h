// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace myxtts {

// `myxtts import`: weights of the public XTTS layout, or of its Python trainer, become a model
// folder.
Command import_command();

}  // namespace myxtts
