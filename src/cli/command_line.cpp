// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/help.h"
#include "device/cuda_plugin.h"
#include "session/console.h"

namespace myxtts {

Command clips_command();
Command config_command();
Command demo_command();
Command doctor_command();
Command encode_command();
Command evaluate_command();
Command export_command();
Command import_command();
Command launch_command();
Command prepare_command();
Command profile_command();
Command pull_command();
Command serve_command();
Command synthesize_command();
Command tokenize_command();
Command train_command();
Command transcribe_command();
Command validate_command();
Command vocab_command();
Command voice_command();
Command watch_command();

std::vector<Command> all_commands() {
  return {
      doctor_command(),     validate_command(), config_command(),     clips_command(),
      prepare_command(),    train_command(),    watch_command(),      launch_command(),
      profile_command(),    evaluate_command(), synthesize_command(), serve_command(),
      transcribe_command(), pull_command(),     import_command(),     export_command(),
      encode_command(),     tokenize_command(), vocab_command(),      voice_command(),
      demo_command(),
  };
}

namespace {

// The library that was loaded, which need not be the one that was compiled against.
std::string libtorch_version() {
  const std::uint64_t packed = aoti_torch_abi_version();  // major, minor, patch in the top bytes
  const auto byte = [packed](unsigned index) { return packed >> (56U - 8U * index) & 0xffU; };
  return fmt::format("{}.{}.{}", byte(0), byte(1), byte(2));
}

// What `--version` prints: ours, then the libraries this process really runs on, a line each.
std::string describe_version() {
  return fmt::format("myxtts {}\nLibTorch {}\ndevices: {}\n", MYXTTS_VERSION, libtorch_version(),
                     describe_devices_short());
}

struct GlobalFlags {
  bool version = false;
  bool quiet = false;
  bool verbose = false;
  bool list_flags = false;
  std::string log_file;
};

void declare_global_flags(CLI::App& program, GlobalFlags& flags) {
  program.set_help_flag("-h,--help", "Shows this page.")->group(kGlobalGroup);
  program
      .add_flag("--version", flags.version,
                "Shows the versions of the program and LibTorch, and the devices.")
      ->group(kGlobalGroup);
  auto* quiet = program.add_flag("--quiet", flags.quiet, "Shows only warnings and errors.")
                    ->group(kGlobalGroup);
  program
      .add_flag("--verbose", flags.verbose, "Shows what is of interest when something is wrong.")
      ->group(kGlobalGroup)
      ->excludes(quiet);
  program.add_option("--log-file", flags.log_file, "Writes every message to this file too.")
      ->type_name("FILE")
      ->group(kGlobalGroup);
  program.add_flag("--list-flags", flags.list_flags)->group("");  // for tools/check_flags.py
}

std::string joined_examples(const std::vector<std::string>& examples) {
  std::string text;
  for (const std::string& example : examples) text += fmt::format("  {}\n", example);
  return text;
}

// The first example of each command.
std::string program_examples() {
  std::vector<std::string> examples;
  for (const Command& command : all_commands()) {
    if (!command.examples.empty()) examples.push_back(command.examples.front());
  }
  return joined_examples(examples);
}

void declare_commands(CLI::App& program, std::function<int()>& action) {
  for (const Command& command : all_commands()) {
    CLI::App* app = program.add_subcommand(command.name, command.summary)->group(command.group);
    app->footer(joined_examples(command.examples));
    app->fallthrough();
    app->set_help_flag("-h,--help", "Shows this page.")->group(kGlobalGroup);
    app->callback([&action, chosen = command.declare(*app)] { action = chosen; });
  }
}

// "config<TAB>--seed", a line for each flag that the help shows.
std::string list_flags(const CLI::App& app) {
  std::string lines;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const auto& name : option->get_lnames()) {
      lines += fmt::format("{}\t--{}\n", app.get_name(), name);
    }
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    lines += list_flags(*command);
  }
  return lines;
}

// The words behind the program's name, with "help train" as "train --help".
std::vector<std::string> words_of(int argument_count, char** arguments) {
  std::vector<std::string> words(arguments + 1, arguments + argument_count);
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

LogLevel log_level(const GlobalFlags& flags) {
  if (flags.quiet) return LogLevel::Warning;
  return flags.verbose ? LogLevel::Debug : LogLevel::Info;
}

}  // namespace

int run_command_line(int argument_count, char** arguments) {
  CLI::App program("Trains XTTS text-to-speech models and speaks with them.", "myxtts");
  GlobalFlags flags;
  std::function<int()> action;
  declare_global_flags(program, flags);
  declare_commands(program, action);
  program.require_subcommand(0, 1);
  program.footer(program_examples());
  try {
    auto words = words_of(argument_count, arguments);
    std::ranges::reverse(words);  // as CLI11 takes them
    program.parse(std::move(words));
    check_no_flag_was_taken_for_a_value(program);
  } catch (const CLI::CallForHelp&) {
    check_no_command_is_unknown(program);
    print(format_help(chosen_command(program)));
    return 0;
  } catch (const CLI::ParseError& error) {
    explain_usage_error(program, error);
  }
  if (flags.version || flags.list_flags || !action) {
    print(flags.version      ? describe_version()
          : flags.list_flags ? list_flags(program)
                             : format_help(program));
    return 0;
  }
  configure_log(log_level(flags), flags.log_file, !flags.quiet);
  return action();
}

}  // namespace myxtts
