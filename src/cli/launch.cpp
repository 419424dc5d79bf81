// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/screen.h"
#include "cli/command.h"
#include "cli/report.h"
#include "config/value_text.h"
#include "parallel/rank_processes.h"
#include "parallel/world.h"

namespace myxtts {
namespace {

constexpr const char* kExample = "myxtts launch --ranks 2 -- train --config run.yaml";
constexpr int kMostRanks = 1024;

struct LaunchArguments {
  int ranks = 0;
  std::optional<int> port;
  std::vector<std::string> command;
};

void check_range(const char* flag, int value, int high) {
  if (value >= 1 && value <= high) return;
  throw ConfigError(fmt::format("{} is {}, but must be a whole number from 1 to {}, as in '{} {}'.",
                                flag, value, high, flag, high == kMostRanks ? 2 : 29500));
}

void check_command(const std::vector<std::string>& command) {
  if (command.empty()) {
    throw ConfigError(
        fmt::format("myxtts launch needs the command to start after --, as in '{}'.", kExample));
  }
  if (command.front() != "train") {
    throw ConfigError(
        fmt::format("myxtts launch starts the ranks of 'train' alone, but {} stands after --; type "
                    "it as in '{}'.",
                    quote(command.front()), kExample));
  }
}

void check_no_rank_launches() {
  const auto world = world_of(process_environment());
  if (!world) return;
  throw ConfigError(fmt::format(
      "This process is rank {} of {} already, by the environment of its launcher, and "
      "cannot launch ranks of its own; type 'myxtts train' in place of 'myxtts launch', "
      "or unset RANK and WORLD_SIZE.",
      world->rank, world->size));
}

// Rank 0's bar may stand in the last line of the terminal; it draws it again with its next step.
ShowLine above_the_bar() {
  const bool may_have_bar = standard_screen().abilities().terminal;
  return [may_have_bar](const std::string& line) {
    standard_screen().write_line(may_have_bar ? "\r\x1b[K" + line : line);
  };
}

int run_launch(const LaunchArguments& arguments) {
  check_range("--ranks", arguments.ranks, kMostRanks);
  if (arguments.port) check_range("--port", *arguments.port, 65535);
  check_command(arguments.command);
  check_no_rank_launches();
  std::vector<std::string> command = arguments.command;
  command.insert(command.begin(), std::filesystem::read_symlink("/proc/self/exe").string());
  RankProcesses processes({.ranks = arguments.ranks,
                           .command = std::move(command),
                           .port = arguments.port.value_or(0),
                           .show = above_the_bar()});
  const auto outcome = processes.run();
  if (!outcome.cause.empty()) {
    log_to_files(LogLevel::Error, outcome.cause);
    report_error(outcome.cause);
  }
  return outcome.exit_code;
}

std::function<int()> declare_launch(CLI::App& app) {
  const auto arguments = std::make_shared<LaunchArguments>();
  app.add_option("--ranks", arguments->ranks,
                 fmt::format("Starts so many processes, from 1 to {}, which train one model "
                             "together; --batch-size is that of each.",
                             kMostRanks))
      ->type_name("N")
      ->required();
  app.add_option("--port", arguments->port,
                 "Where rank 0 listens on 127.0.0.1, from 1 to 65535; a free one if not given.")
      ->type_name("N");
  app.add_option("COMMAND", arguments->command, "'train' and its flags, which every rank gets");
  return [arguments] { return run_launch(*arguments); };
}

}  // namespace

Command launch_command() {
  return {.name = "launch",
          .group = "Training",
          .summary = "Trains in several processes of this machine, which share the work",
          .declare = declare_launch,
          .examples = {kExample,
                       "myxtts launch --ranks 4 -- train --device cpu --train-data "
                       "corpora/ljspeech --checkpoint-dir runs/voice"}};
}

}  // namespace myxtts
