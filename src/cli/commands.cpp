// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace myxtts {

Command config_command();
Command doctor_command();
Command export_command();
Command import_command();

std::vector<Command> all_commands() {
  return {
      import_command(),
      export_command(),
      config_command(),
      doctor_command(),
  };
}

}  // namespace myxtts
