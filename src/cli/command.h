// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/error.h"
#include "base/interruption.h"

// For headers that only pass these on: CLI11 itself costs each file that reads it seconds.
namespace CLI {
class App;
class Option;
class ParseError;
class Validator;
}  // namespace CLI

namespace myxtts {

// One subcommand. `declare` adds its flags to `app` and gives the action to run once the command
// line was read; the action's result is the exit code. Errors are thrown, and caught in main.cpp
// alone.
struct Command {
  std::string name;
  std::string group;    // heading in the help
  std::string summary;  // one line in the help
  std::function<std::function<int()>(CLI::App& app)> declare;
  std::vector<std::string> examples = {};  // command lines that work, for the help
};

// For commands that are made of others, which run as a person would type them: shows the command,
// without "myxtts" in `words`, and starts it.
std::unique_ptr<ChildProcess> start_command(std::vector<std::string> words);

// Waits for its end and gives its exit code. It is interrupted when `until` says so, and when we
// are.
int finish_command(
    ChildProcess& program, const Interruption& interruption,
    const std::function<bool()>& until = [] { return false; });

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
