// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include "cli/export.h"
#include "cli/import.h"

namespace myxtts {

std::vector<Command> all_commands() {
  return {import_command(), export_command()};
}

}  // namespace myxtts
