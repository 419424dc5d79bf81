// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <functional>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/commands.h"

namespace myxtts {
namespace {

int run(int argument_count, char** arguments) {
  CLI::App program("Trains XTTS text-to-speech models and speaks with them.", "myxtts");
  program.set_version_flag("--version", "0.1.0");
  program.require_subcommand(1);
  std::function<int()> action;
  for (const Command& command : all_commands()) {
    CLI::App* app = program.add_subcommand(command.name, command.summary)->group(command.group);
    app->callback([&action, chosen = command.declare(*app)] { action = chosen; });
  }
  try {
    program.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  }
  return action();
}

int report(const std::exception& error, int exit_code) {
  std::fprintf(stderr, "myxtts: %s\n", error.what());
  return exit_code;
}

}  // namespace
}  // namespace myxtts

int main(int argument_count, char** arguments) {
  using namespace myxtts;
  try {
    return run(argument_count, arguments);
  } catch (const ConfigError& error) {
    return report(error, 2);
  } catch (const DataError& error) {
    return report(error, 3);
  } catch (const DeviceError& error) {
    return report(error, 4);
  } catch (const std::exception& error) {
    return report(error, 70);
  }
}
