// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace myxtts {

// Reads the command line and does what it asks for; gives the exit code. Throws ConfigError when
// the command line is wrong, and whatever the command throws.
int run_command_line(int argument_count, char** arguments);

}  // namespace myxtts
