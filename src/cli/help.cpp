// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/message_text.h"
#include "config/predecessor.h"
#include "config/value_text.h"

namespace myxtts {

// "FILE" of CLI11's "TEXT:FILE": what a validator says of itself is more than the type.
std::string placeholder(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const std::string type = option.get_type_name();
  for (const std::string_view vague : {"TEXT:", "INT:", "UINT:", "FLOAT:"}) {
    if (type.starts_with(vague)) return type.substr(vague.size());
  }
  return type;
}

namespace {

constexpr std::size_t kColumn = 32;  // where descriptions begin
constexpr std::size_t kWidth = 100;

// `text` broken between words so that no line goes beyond kWidth, every line but the first
// indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text);
  std::string result;
  std::size_t column = indent;
  for (std::string word; words >> word;) {
    const bool fits = column + word.size() + 1 <= kWidth;
    if (!result.empty()) result += fits ? " " : "\n" + std::string(indent, ' ');
    if (!fits) column = indent;
    result += word;
    column += word.size() + 1;
  }
  return result;
}

std::string format_entry(const HelpEntry& entry) {
  const auto& [typed, description, option] = entry;
  const std::string gap = typed.size() + 4 > kColumn ? "\n" + std::string(kColumn, ' ')
                                                     : std::string(kColumn - 2 - typed.size(), ' ');
  return fmt::format("  {}{}{}\n", typed, gap, wrapped(description, kColumn));
}

// "-h, --help", "--seed N", "--resume [STEP|PATH]".
std::string typed(const CLI::Option& option) {
  if (option.nonpositional()) {
    std::string names;
    for (const auto& name : option.get_snames()) names += fmt::format("-{}, ", name);
    for (const auto& name : option.get_lnames()) names += fmt::format("--{}, ", name);
    names.resize(names.size() - 2);
    if (placeholder(option).empty()) return names;
    const bool needs_value = option.get_items_expected_min() > 0;
    return needs_value ? fmt::format("{} {}", names, placeholder(option))
                       : fmt::format("{} [{}]", names, placeholder(option));
  }
  return option.get_name(true);
}

void add_to_section(std::vector<HelpSection>& sections, const std::string& heading,
                    HelpEntry entry) {
  auto section = std::ranges::find(sections, heading, &HelpSection::heading);
  if (section == sections.end()) {
    sections.push_back({heading, {}});
    section = std::prev(sections.end());
  }
  section->entries.push_back(std::move(entry));
}

void add_options(std::vector<HelpSection>& sections, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;                                  // hidden
    if (option == app.get_help_ptr() && app.get_parent() != nullptr) continue;  // the program's
    const bool is_default_group = option->get_group() == "Options";
    add_to_section(sections, is_default_group ? "Flags" : option->get_group(),
                   {typed(*option), option->get_description(), option});
  }
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr
             ? app.get_name()
             : fmt::format("{} {}", full_name(*app.get_parent()), app.get_name());
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string usage_of(const CLI::App& app) {
  std::string usage = full_name(app) + (commands_of(app).empty() ? "" : " COMMAND");
  std::string rest = " [flags]";
  for (const CLI::Option* option : app.get_options()) {
    const std::string value = option->nonpositional() ? "" : option->get_name(true);
    if (value == "COMMAND") {
      rest = " [flags] -- COMMAND";  // whose own flags are not ours
    } else if (!value.empty()) {
      usage += " " + value;
    }
  }
  return usage + rest;
}

HelpPage page_of(const CLI::App& app) {
  HelpPage page{.name = full_name(app),
                .description = app.get_description(),
                .usage = usage_of(app),
                .sections = {},
                .examples = app.get_footer()};
  for (const CLI::App* command : commands_of(app)) {
    add_to_section(page.sections, command->get_group(),
                   {command->get_name(), command->get_description()});
  }
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    add_options(page.sections, *level);
  }
  // What every command has comes last, and --help once.
  std::ranges::stable_partition(
      page.sections, [](const HelpSection& section) { return section.heading != kGlobalGroup; });
  return page;
}

}  // namespace

std::vector<HelpPage> help_pages(const CLI::App& program) {
  std::vector<HelpPage> pages{page_of(program)};
  for (const CLI::App* command : commands_of(program)) {
    for (HelpPage& page : help_pages(*command)) pages.push_back(std::move(page));
  }
  return pages;
}

std::string format_help(const CLI::App& app) {
  const HelpPage page = page_of(app);
  std::string text = fmt::format("{}\n\nUsage: {}\n", wrapped(page.description, 0), page.usage);
  for (const auto& [heading, entries] : page.sections) {
    text += fmt::format("\n{}\n", heading);
    for (const HelpEntry& entry : entries) text += format_entry(entry);
  }
  if (!page.examples.empty()) text += fmt::format("\nExamples\n{}", page.examples);
  if (!commands_of(app).empty()) {
    text += fmt::format("\nType '{} COMMAND --help' for the flags of a command.\n", app.get_name());
  }
  return text;
}

namespace {

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

// "CORPUS": what stands without a flag.
std::vector<std::string> positionals_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (names_of(*option).empty() && option->get_positional()) {
      names.push_back(option->get_name(true));
    }
  }
  return names;
}

[[noreturn]] void refuse_command(const CLI::App& app, const std::string& wrong) {
  std::vector<std::string> known;
  for (const CLI::App* command : commands_of(app)) {
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
  std::vector<const CLI::App*> owners = commands_of(app);
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
  if (const std::string reason = reason_without_flag(name); !reason.empty()) {
    throw ConfigError(fmt::format(
        "{} has no flag {}, as train_main.py has: {}; docs/guides/coming-from-train-main.md maps "
        "its flags to ours.",
        full_name(app), quote(name), reason));
  }
  const std::vector<std::string> positionals = positionals_of(app);
  std::vector<std::string> known = flags_of(app);
  known.insert(known.end(), positionals.begin(), positionals.end());
  const auto near = is_one_letter ? std::nullopt : meant_name(name, known);
  if (near && std::ranges::find(positionals, *near) != positionals.end()) {
    throw ConfigError(fmt::format("{0} has no flag {1}; {2} stands without one, as in '{0} {2}'.",
                                  full_name(app), quote(name), *near));
  }
  if (!near && takes_command(app)) {
    throw ConfigError(fmt::format(
        "{} has no flag {}; a command that it starts stands after --, as in '{} -- train {}'.",
        full_name(app), quote(name), full_name(app), one_line(name)));
  }
  throw ConfigError(fmt::format(
      "{} has no flag {}; {}", full_name(app), quote(name),
      near ? fmt::format("did you mean {}?", *near) : fmt::format("{}.", see_help(app))));
}

// What was left over explains more than CLI11's message, which may be about something missing.
void explain_leftovers(const CLI::App& program) {
  const CLI::App& app = chosen_command(program);
  const std::vector<std::string> leftovers = program.remaining(true);
  // CLI11 leaves the command of `launch` as it is where it complains of something before.
  if (leftovers.empty() || (leftovers.front() == "--" && takes_command(app))) return;
  const std::string& first = leftovers.front();
  const bool has_commands = !commands_of(app).empty();
  if (first.size() > 1 && first.starts_with("-")) refuse_flag(app, first);
  if (has_commands) refuse_command(app, first);
  const bool trains = app.get_name() == "train" || app.get_name() == "profile";
  if (trains && !first.ends_with(".yaml")) {
    throw ConfigError(fmt::format(
        "{0} does not take the argument {1}; a corpus is named with --train-data, as in '{0} "
        "--train-data {2}'.",
        full_name(app), quote(first), one_line(shell_word(first))));
  }
  const bool is_settings = first.ends_with(".yaml") && has_flag(app, "--config");
  throw ConfigError(
      fmt::format("{} does not take the argument {}; {}.", full_name(app), quote(first),
                  is_settings ? "a file of settings is named with --config" : see_help(app)));
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

constexpr std::string_view kTakes = "takes ";

CLI::Validator validator(std::string allowed, std::function<bool(const std::string&)> is_allowed) {
  return {[said = std::string(kTakes) + std::move(allowed), is_allowed = std::move(is_allowed)](
              const std::string& value) { return is_allowed(value) ? std::string() : said; },
          ""};
}

// ", as in '--out DIR'"; empty for what stands without a flag.
std::string example_of(const CLI::Option& option) {
  if (names_of(option).empty()) return {};
  const std::string type = option.get_type_name();
  return fmt::format(", as in '{} {}'", shown_name(option), type.substr(0, type.find(':')));
}

[[noreturn]] void explain_option(const CLI::App& app, const CLI::Option& option,
                                 const CLI::ParseError& error) {
  const std::string name = shown_name(option);
  const std::string owner = full_name(app);
  if (error.get_name() == "RequiredError") {
    throw ConfigError(
        fmt::format("{} needs {}{}; {}.", owner, name, example_of(option), see_help(app)));
  }
  if (error.get_name() == "ExcludesError") {
    throw ConfigError(fmt::format("{}; leave one of the two out.", error.what()));
  }
  if (error.get_name() == "RequiresError") {
    throw ConfigError(fmt::format("{}; give both or neither.", error.what()));
  }
  const auto& values = option.results();
  if (error.get_name() == "ArgumentMismatch" && values.size() > 1) {
    const std::string type = option.get_type_name();
    const bool takes_list = type == "LIST" || type == "PATTERNS";
    throw ConfigError(
        fmt::format("{} was given {} times; give it once{}.", name, values.size(),
                    takes_list ? fmt::format(", as in {} {}", name,
                                             one_line(fmt::format("{}", fmt::join(values, ","))))
                               : ""));
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
  if (reason.starts_with(kTakes)) {
    throw ConfigError(fmt::format("{} {}, but was given {}; {}.", name, reason,
                                  quote(values.empty() ? "" : values.back()), see_help(app)));
  }
  throw ConfigError(fmt::format("{} was given {}, which cannot be used: {}; {}.", name,
                                quote(values.empty() ? "" : values.back()), reason, see_help(app)));
}

}  // namespace

CLI::Validator whole_number_in(std::int64_t least, std::int64_t most) {
  return validator(fmt::format("a whole number from {} to {}", least, most),
                   [least, most](const std::string& text) {
                     const auto value = parse_integer(text);
                     return value && *value >= least && *value <= most;
                   });
}

CLI::Validator number_in(double least, double most) {
  return validator(fmt::format("a number from {} to {}", least, most),
                   [least, most](const std::string& text) {
                     const auto value = parse_number(text);
                     return value && *value >= least && *value <= most;
                   });
}

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

void check_no_command_is_unknown(const CLI::App& program) {
  if (!program.get_subcommands().empty()) return;
  const std::vector<std::string> leftovers = program.remaining();
  const auto word = std::ranges::find_if(
      leftovers, [](const std::string& each) { return !each.starts_with("-"); });
  if (word != leftovers.end()) refuse_command(program, *word);
}

void explain_usage_error(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& app = chosen_command(program);
  check_no_flag_was_taken_for_a_value(program);
  explain_leftovers(program);
  if (const CLI::Option* option = option_named_in(app, error.what())) {
    explain_option(app, *option, error);
  }
  if (const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
      !commands.empty() && error.get_name() == "RequiredError") {
    const std::string name = full_name(app);
    throw ConfigError(fmt::format("{0} needs a command, as in '{0} {1}'; {2}.", name,
                                  commands.front()->get_name(), see_help(app)));
  }
  throw ConfigError(fmt::format("{}: {}; {}.", full_name(app), error.what(), see_help(app)));
}

}  // namespace myxtts
