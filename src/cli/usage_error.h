// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "cli/cli11_names.h"

namespace myxtts {

// The command that was asked for, or the program itself.
const CLI::App& chosen_command(const CLI::App& program);

// Throws ConfigError when a flag took the next flag for its value, as in `--config --quiet`.
void check_no_flag_was_taken_for_a_value(const CLI::App& program);

// Says in our words what is wrong with a command line that CLI11 refused.
[[noreturn]] void explain_usage_error(const CLI::App& program, const CLI::ParseError& error);

}  // namespace myxtts
