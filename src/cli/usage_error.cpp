// SPDX-License-Identifier: Apache-2.0
#include "cli/usage_error.h"

#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/nearest.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr
             ? app.get_name()
             : fmt::format("{} {}", full_name(*app.get_parent()), app.get_name());
}

std::string see_help(const CLI::App& app) {
  return fmt::format("type '{} --help' for what it takes", full_name(app));
}

// The options that may stand on the command line: the command's own and those above it.
std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    const auto own = level->get_options();
    options.insert(options.end(), own.begin(), own.end());
  }
  return options;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : options_of(app)) {
    const auto names = names_of(*option);
    if (!option->get_group().empty()) flags.insert(flags.end(), names.begin(), names.end());
  }
  return flags;
}

[[noreturn]] void refuse_command(const CLI::App& app, const std::string& wrong) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(command->get_name());
  }
  const auto near = nearest_name(wrong, known);
  throw ConfigError(near ? fmt::format("There is no command {}; did you mean '{} {}'?",
                                       quote(wrong), full_name(app), *near)
                         : fmt::format("There is no command {}; type '{} --help' for the list.",
                                       quote(wrong), full_name(app)));
}

bool has_flag(const CLI::App& app, const std::string& name) {
  const auto flags = flags_of(app);
  return std::find(flags.begin(), flags.end(), name) != flags.end();
}

// A flag of a command that stands before it.
void refuse_early_flag(const CLI::App& app, const std::string& name) {
  std::vector<const CLI::App*> owners = app.get_subcommands([](const CLI::App*) { return true; });
  owners.push_back(&app);
  for (const CLI::App* owner : owners) {
    if (!has_flag(*owner, name)) continue;
    throw ConfigError(fmt::format("{} is a flag of a command; write it after one, as in '{} {}'.",
                                  name, full_name(*owner), name));
  }
}

bool takes_command(const CLI::App& app) {
  return app.get_option_no_throw("COMMAND") != nullptr;
}

[[noreturn]] void refuse_flag(const CLI::App& app, const std::string& wrong) {
  const std::string name = wrong.substr(0, wrong.find('='));
  refuse_early_flag(app, name);
  const bool is_one_letter = !name.starts_with("--");  // every other letter would be as near
  const auto near = is_one_letter ? std::nullopt : nearest_name(name, flags_of(app));
  if (!near && takes_command(app)) {
    throw ConfigError(fmt::format(
        "{} has no flag {}; a command that it starts stands after --, as in '{} -- train {}'.",
        full_name(app), quote(name), full_name(app), one_line(name)));
  }
  throw ConfigError(fmt::format(
      "{} has no flag {}; {}", full_name(app), quote(name),
      near ? fmt::format("did you mean {}?", *near) : fmt::format("{}.", see_help(app))));
}

// What was left over tells more than CLI11's complaint, which may be about something missing.
void explain_leftovers(const CLI::App& program) {
  const CLI::App& app = chosen_command(program);
  const std::vector<std::string> leftovers = program.remaining(true);
  // CLI11 leaves the command of `launch` as it is where it complains of something before.
  if (leftovers.empty() || (leftovers.front() == "--" && takes_command(app))) return;
  const std::string& first = leftovers.front();
  const bool has_commands = !app.get_subcommands([](const CLI::App*) { return true; }).empty();
  if (first.size() > 1 && first.starts_with("-")) refuse_flag(app, first);
  if (has_commands) refuse_command(app, first);
  throw ConfigError(fmt::format("{} does not take the argument {}; {}.", full_name(app),
                                quote(first), see_help(app)));
}

// The option that CLI11's message speaks of first; null when it speaks of none.
const CLI::Option* option_named_in(const CLI::App& app, const std::string& message) {
  const CLI::Option* found = nullptr;
  std::size_t first = std::string::npos;
  std::size_t longest = 0;
  for (const CLI::Option* option : options_of(app)) {
    const std::string name = option->get_name(false, false);
    const std::size_t at = name.empty() ? std::string::npos : message.find(name);
    if (at < first || (at == first && found != nullptr && name.size() > longest)) {
      found = option;
      first = at;
      longest = name.size();
    }
  }
  return found;
}

std::string shown_name(const CLI::Option& option) {
  const auto names = names_of(option);
  return names.empty() ? option.get_name(true) : names.front();
}

[[noreturn]] void explain_option(const CLI::App& app, const CLI::Option& option,
                                 const CLI::ParseError& error) {
  const std::string name = shown_name(option);
  const std::string owner = full_name(app);
  if (error.get_name() == "RequiredError") {
    throw ConfigError(fmt::format("{} needs {}; {}.", owner, name, see_help(app)));
  }
  if (error.get_name() == "ExcludesError") {
    throw ConfigError(fmt::format("{}; leave one of the two out.", error.what()));
  }
  if (error.get_name() == "RequiresError") {
    throw ConfigError(fmt::format("{}; give both or neither.", error.what()));
  }
  const auto& values = option.results();
  if (error.get_name() == "ArgumentMismatch" && values.size() > 1) {
    throw ConfigError(fmt::format("{} was given {} times; give it once.", name, values.size()));
  }
  if (error.get_name() == "ArgumentMismatch") {
    throw ConfigError(fmt::format("{} needs a value, as in '{} {} {}'.", name, owner, name,
                                  option.get_type_name()));
  }
  if (error.get_name() == "ConversionError" && !values.empty()) {
    throw ConfigError(fmt::format("{} takes {}, but was given {}; {}.", name,
                                  option.get_type_name(), quote(values.back()), see_help(app)));
  }
  std::string reason = error.what();  // of a validator: "--name: reason"
  if (const auto colon = reason.find(": "); colon != std::string::npos) reason.erase(0, colon + 2);
  throw ConfigError(fmt::format("{} was given {}, which cannot be used: {}; {}.", name,
                                quote(values.empty() ? "" : values.back()), reason, see_help(app)));
}

}  // namespace

const CLI::App& chosen_command(const CLI::App& program) {
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

void check_no_flag_was_taken_for_a_value(const CLI::App& program) {
  const CLI::App& app = chosen_command(program);
  const std::vector<std::string> flags = flags_of(app);
  for (const CLI::Option* option : options_of(app)) {
    if (!option->nonpositional()) continue;  // has one only where -- says that it is a value
    for (const std::string& value : option->results()) {
      if (std::find(flags.begin(), flags.end(), value) == flags.end()) continue;
      throw ConfigError(fmt::format("{} needs a value, but {} follows it; {}.", shown_name(*option),
                                    value, see_help(app)));
    }
  }
}

void explain_usage_error(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& app = chosen_command(program);
  check_no_flag_was_taken_for_a_value(program);
  explain_leftovers(program);
  if (const CLI::Option* option = option_named_in(app, error.what())) {
    explain_option(app, *option, error);
  }
  throw ConfigError(fmt::format("{}: {}; {}.", full_name(app), error.what(), see_help(app)));
}

}  // namespace myxtts
