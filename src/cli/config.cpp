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

std::string formatted(const std::string& format, const EffectiveConfig& config) {
  if (format == "yaml") return print_config(config);
  if (format == "reference") return print_reference();
  if (format == "markdown") return print_markdown();
  throw ConfigError(
      fmt::format("--format takes yaml, reference or markdown, but was given {}.", quote(format)));
}

std::function<int()> declare_config(CLI::App& app) {
  const auto flags = std::make_shared<ConfigFlags>(app);
  const auto format = std::make_shared<std::string>("yaml");
  app.add_option("--format", *format,
                 "yaml prints what a run would use; reference every setting explained, with its "
                 "default; markdown the same as tables. [yaml]")
      ->type_name("yaml|reference|markdown")
      ->group("Configuration");
  return [flags, format] {
    print(formatted(*format, make_effective_config(flags->sources())));
    return 0;
  };
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
