// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/command.h"

namespace myxtts {

// Every command of the program, in the order of the help. Each is defined in the file of its name.
std::vector<Command> all_commands();

}  // namespace myxtts
