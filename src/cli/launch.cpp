// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/command.h"
#include "config/field.h"
#include "config/value_text.h"
#include "device/machine.h"
#include "parallel/world.h"
#include "session/plan_run.h"
#include "session/ranks/rank_start.h"

namespace myxtts {
namespace {

constexpr const char* kExample = "myxtts launch --ranks 2 -- train --config run.yaml";
constexpr const char* kGpuExample = "myxtts launch --gpus all -- train --config run.yaml";
constexpr int kMostRanks = 1024;

struct LaunchArguments {
  std::optional<int> ranks;
  std::optional<std::string> gpus;
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

// The numbers that train's own flag takes.
GpuNumbers parse_gpus(const std::string& text) {
  RunConfig config;
  const Field* field = find_field("parallel.gpus");
  if (field->assign({.text = text}, config) && config.devices.gpus) return *config.devices.gpus;
  throw ConfigError(fmt::format("--gpus takes {}, but {} was given, as in '{}'.", field->allowed,
                                quote(text), kGpuExample));
}

int count_gpus(const std::string& text) {
  const GpuNumbers named = parse_gpus(text);
  if (!named.empty()) return static_cast<int>(named.size());
  SystemProbe probe;
  RunConfig all;
  all.devices.gpus = named;
  return static_cast<int>(settings_of_ranks(all, discover_machine(probe).gpus).size());
}

void check_who_trains(const LaunchArguments& arguments) {
  if (arguments.ranks && arguments.gpus) {
    throw ConfigError(
        "--ranks and --gpus both say how many ranks there are; leave one of them out.");
  }
  if (arguments.ranks || arguments.gpus) return;
  throw ConfigError(fmt::format(
      "myxtts launch needs --ranks N, or --gpus LIST for a rank on each GPU, as in '{}' or '{}'; "
      "see 'myxtts launch --help'.",
      kExample, kGpuExample));
}

int run_launch(const LaunchArguments& arguments) {
  check_who_trains(arguments);
  if (arguments.ranks) check_range("--ranks", *arguments.ranks, kMostRanks);
  if (arguments.port) check_range("--port", *arguments.port, 65535);
  check_command(arguments.command);
  check_no_rank_launches();
  std::vector<std::string> command = arguments.command;
  if (!arguments.gpus) {
    return launch_ranks(*arguments.ranks, std::move(command), arguments.port);
  }
  command.insert(command.begin() + 1, {"--gpus", *arguments.gpus});
  return launch_ranks(count_gpus(*arguments.gpus), std::move(command), arguments.port);
}

std::function<int()> declare_launch(CLI::App& app) {
  const auto arguments = std::make_shared<LaunchArguments>();
  app.add_option("--ranks", arguments->ranks,
                 fmt::format("Starts so many processes, from 1 to {}, which train one model "
                             "together; --batch-size is that of each.",
                             kMostRanks))
      ->type_name("N");
  app.add_option("--gpus", arguments->gpus,
                 "Starts a process for each of these GPUs, as in 0,1, or all: train's --gpus.")
      ->type_name("LIST");
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
          .examples = {kExample, kGpuExample,
                       "myxtts launch --ranks 4 -- train --device cpu --train-data "
                       "corpora/ljspeech --checkpoint-dir runs/voice"}};
}

}  // namespace myxtts
