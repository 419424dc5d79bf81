// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "cli/command.h"

namespace myxtts {

// The heading of what may stand before and after every command.
constexpr const char* kGlobalGroup = "Flags of every command";

// What a number flag takes: said in a sentence of ours where it was given anything else.
CLI::Validator whole_number_in(std::int64_t least, std::int64_t most);
CLI::Validator number_in(double least, double most);

// The page that `--help` prints for the program or for one of its commands.
std::string format_help(const CLI::App& app);

// The command that was asked for, or the program itself.
const CLI::App& chosen_command(const CLI::App& program);

// Throws ConfigError when a flag took the next flag for its value, as in `--config --quiet`.
void check_no_flag_was_taken_for_a_value(const CLI::App& program);

// Throws ConfigError where help was asked for of a command that there is not.
void check_no_command_is_unknown(const CLI::App& program);

// Says in our words what is wrong with a command line that CLI11 refused.
[[noreturn]] void explain_usage_error(const CLI::App& program, const CLI::ParseError& error);

}  // namespace myxtts
