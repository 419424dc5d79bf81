// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/process.h"
#include "cli/command.h"
#include "cli/help.h"
#include "device/cuda_plugin.h"
#include "session/console.h"

namespace myxtts {

Command clips_command();
Command completion_command();
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

namespace {

// Every command of the program, in the order of the help. Each is defined in the file of its name.
std::vector<Command> all_commands() {
  return {
      doctor_command(),     validate_command(),   config_command(),     clips_command(),
      prepare_command(),    train_command(),      watch_command(),      launch_command(),
      profile_command(),    evaluate_command(),   synthesize_command(), serve_command(),
      transcribe_command(), pull_command(),       import_command(),     export_command(),
      encode_command(),     tokenize_command(),   vocab_command(),      voice_command(),
      demo_command(),       completion_command(),
  };
}

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
  std::string shared_pages;
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
  program.add_option("--write-shared-pages", flags.shared_pages)->group("");  // tools/install
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

// Reads the command line and does what it asks for; gives the exit code. Throws ConfigError when
// the command line is wrong, and whatever the command throws.
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
  if (!flags.shared_pages.empty()) {
    write_shared_pages(program, flags.shared_pages);
    return 0;
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

enum ExitCode { kConfigError = 2, kDataError = 3, kDeviceError = 4, kInternalError = 70 };

// Any file may be the one too many, so the remedy stands here and not where each is opened.
std::string with_limit_of_files(std::string sentence) {
  if (sentence.find(std::generic_category().message(EMFILE)) == std::string::npos) return sentence;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  return fmt::format("{} This shell allows {} open files at once; allow more with: ulimit -n 4096",
                     sentence, files.rlim_cur);
}

int report(const std::exception& error, ExitCode exit_code) {
  report_error(with_limit_of_files(error.what()));
  return exit_code;
}

// A failure that nobody gave a sentence of its own.
int report_bug(const char* what) {
  report_error(
      fmt::format("This is a bug of MyXTTS, please report it with the command line: {}", what));
  return kInternalError;
}

}  // namespace
}  // namespace myxtts

int main(int argument_count, char** arguments) {
  using namespace myxtts;
  keep_freed_memory();
  std::signal(SIGPIPE, SIG_DFL);  // `myxtts config | head` ends quietly, whoever started us
  try {
    return run_command_line(argument_count, arguments);
  } catch (const ConfigError& error) {
    return report(error, kConfigError);
  } catch (const DataError& error) {
    return report(error, kDataError);
  } catch (const DeviceError& error) {
    return report(error, kDeviceError);
  } catch (const Interrupted& interrupted) {
    report_error("Interrupted; what was begun is removed. Type the same command to begin again.");
    return kExitBySignal + interrupted.signal;
  } catch (const std::filesystem::filesystem_error& error) {
    report_error(
        with_limit_of_files(fmt::format("A file or folder cannot be used: {}.", error.what())));
    return kDataError;
  } catch (const c10::OutOfMemoryError&) {
    report_error("The memory of the GPU is full; use a smaller batch or model, or --device cpu.");
    return kDeviceError;
  } catch (const std::bad_alloc&) {
    report_error("There is no memory left; use a smaller batch or model.");
    return kDeviceError;
  } catch (const std::exception& error) {
    return report_bug(error.what());
  } catch (...) {
    return report_bug("something unknown was thrown");
  }
}
