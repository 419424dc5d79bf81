// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/cli11_names.h"

namespace myxtts {

// The heading of what may stand before and after every command.
constexpr const char* kGlobalGroup = "Flags of every command";

// The page that `--help` prints for the program or for one of its commands.
std::string format_help(const CLI::App& app);

}  // namespace myxtts
