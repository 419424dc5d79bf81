// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"

namespace myxtts {

// What there is to say of the program or of one of its commands: for `--help`, the manual pages and
// the shells. It points into the app.
struct HelpEntry {
  std::string typed;  // "--seed N"
  std::string description;
  const CLI::Option* option = nullptr;  // null: a command
};
struct HelpSection {
  std::string heading;
  std::vector<HelpEntry> entries;
};
struct HelpPage {
  std::string name;  // "myxtts vocab extend"
  std::string description;
  std::string usage;  // "myxtts vocab extend [flags]"
  std::vector<HelpSection> sections;
  std::string examples;  // a line for each, indented
};

// The program's page first, then that of each command, before those of its own commands.
std::vector<HelpPage> help_pages(const CLI::App& program);

// "FILE": what stands for the value of a flag; empty for one that takes none.
std::string placeholder(const CLI::Option& option);

// What lets `shell`, bash, zsh or fish, complete commands, flags and values. Throws ConfigError for
// another shell.
std::string completion_script(const CLI::App& program, const std::string& shell);

// Writes the manual pages and the completions to where man and the shells look for them below
// `prefix`: share/man/man1/myxtts-train.1, share/fish/... Throws DataError.
void write_shared_pages(const CLI::App& program, const std::filesystem::path& prefix);

}  // namespace myxtts
