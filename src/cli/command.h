// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

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

// Every command of the program, in the order of the help. Each is defined in the file of its name.
std::vector<Command> all_commands();

}  // namespace myxtts
