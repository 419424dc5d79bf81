// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "config/effective_config.h"
#include "config/value_text.h"
#include "session/console.h"

namespace myxtts {
namespace {

struct ConfigArguments {
  explicit ConfigArguments(CLI::App& app) : flags(app) {}

  ConfigFlags flags;
  std::string format = "yaml";
};

std::string formatted(const ConfigArguments& arguments, const EffectiveConfig& config) {
  if (arguments.format == "yaml") return print_config(config);
  if (arguments.format == "reference") return print_reference();
  if (arguments.format == "markdown") return print_markdown();
  throw ConfigError(fmt::format("--format takes yaml, reference or markdown, but was given {}.",
                                quote(arguments.format)));
}

int run_config(const ConfigArguments& arguments) {
  print(formatted(arguments, make_effective_config(arguments.flags.sources())));
  return 0;
}

std::function<int()> declare_config(CLI::App& app) {
  const auto arguments = std::make_shared<ConfigArguments>(app);
  app.add_option("--format", arguments->format,
                 "yaml prints what a run would use; reference every setting explained, with its "
                 "default; markdown the same as tables. [yaml]")
      ->type_name("NAME")
      ->group("Configuration");
  return [arguments] { return run_config(*arguments); };
}

}  // namespace

Command config_command() {
  return {.name = "config",
          .group = "Setting up",
          .summary = "Prints the effective configuration, each value with where it came from",
          .declare = declare_config,
          .examples = {"myxtts config --preset two-gpu",
                       "myxtts config --config run.yaml --batch-size 16 > checked.yaml",
                       "myxtts config --format reference > mine.yaml"}};
}

}  // namespace myxtts
