// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace myxtts {
namespace {

constexpr std::size_t kColumn = 32;  // where descriptions begin
constexpr std::size_t kWidth = 100;

using Entry = std::pair<std::string, std::string>;           // what to type, what it does
using Section = std::pair<std::string, std::vector<Entry>>;  // under one heading

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

std::string format_entry(const Entry& entry) {
  const auto& [typed, description] = entry;
  const std::string gap = typed.size() + 4 > kColumn ? "\n" + std::string(kColumn, ' ')
                                                     : std::string(kColumn - 2 - typed.size(), ' ');
  return fmt::format("  {}{}{}\n", typed, gap, wrapped(description, kColumn));
}

// "FILE" of CLI11's "TEXT:FILE": what a validator says of itself is more than the type.
std::string placeholder(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  for (const std::string_view vague : {"TEXT:", "INT:", "UINT:", "FLOAT:"}) {
    if (type.starts_with(vague)) return type.substr(vague.size());
  }
  return type;
}

// "-h, --help", "--seed N", "--resume [STEP|PATH]".
std::string typed(const CLI::Option& option) {
  if (option.nonpositional()) {
    std::string names;
    for (const auto& name : option.get_snames()) names += fmt::format("-{}, ", name);
    for (const auto& name : option.get_lnames()) names += fmt::format("--{}, ", name);
    names.resize(names.size() - 2);
    const bool takes_value = option.get_items_expected_max() > 0 && !placeholder(option).empty();
    if (!takes_value) return names;
    const bool needs_value = option.get_items_expected_min() > 0;
    return needs_value ? fmt::format("{} {}", names, placeholder(option))
                       : fmt::format("{} [{}]", names, placeholder(option));
  }
  return option.get_name(true);
}

void add_to_section(std::vector<Section>& sections, const std::string& heading, Entry entry) {
  auto section = std::find_if(sections.begin(), sections.end(),
                              [&](const Section& known) { return known.first == heading; });
  if (section == sections.end()) {
    sections.push_back({heading, {}});
    section = std::prev(sections.end());
  }
  section->second.push_back(std::move(entry));
}

void add_options(std::vector<Section>& sections, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;                                  // hidden
    if (option == app.get_help_ptr() && app.get_parent() != nullptr) continue;  // the program's
    const bool is_default_group = option->get_group() == "Options";
    add_to_section(sections, is_default_group ? "Flags" : option->get_group(),
                   {typed(*option), option->get_description()});
  }
}

std::string format_usage(const CLI::App& app, bool has_commands) {
  std::string name = app.get_name();
  for (const CLI::App* parent = app.get_parent(); parent != nullptr;
       parent = parent->get_parent()) {
    name = fmt::format("{} {}", parent->get_name(), name);
  }
  std::string usage = fmt::format("Usage: {}{}", name, has_commands ? " COMMAND" : "");
  std::string rest = " [flags]\n";
  for (const CLI::Option* option : app.get_options()) {
    const std::string value = option->nonpositional() ? "" : option->get_name(true);
    if (value == "COMMAND") {
      rest = " [flags] -- COMMAND\n";  // whose own flags are not ours
    } else if (!value.empty()) {
      usage += " " + value;
    }
  }
  return usage + rest;
}

}  // namespace

std::string format_help(const CLI::App& app) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::vector<Section> sections;
  for (const CLI::App* command : commands) {
    add_to_section(sections, command->get_group(),
                   {command->get_name(), command->get_description()});
  }
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    add_options(sections, *level);
  }
  // What every command has comes last, and --help once.
  std::stable_partition(sections.begin(), sections.end(),
                        [](const Section& section) { return section.first != kGlobalGroup; });

  std::string page =
      wrapped(app.get_description(), 0) + "\n\n" + format_usage(app, !commands.empty());
  for (const auto& [heading, entries] : sections) {
    page += fmt::format("\n{}\n", heading);
    for (const Entry& entry : entries) page += format_entry(entry);
  }
  if (!app.get_footer().empty()) page += fmt::format("\nExamples\n{}", app.get_footer());
  if (!commands.empty()) {
    page += fmt::format("\nType '{} COMMAND --help' for the flags of a command.\n", app.get_name());
  }
  return page;
}

}  // namespace myxtts
