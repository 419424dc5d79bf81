// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace myxtts {

Command config_command();
Command tokenize_command();
Command vocab_command();

std::vector<Command> all_commands() {
  return {
      config_command(),
      tokenize_command(),
      vocab_command(),
  };
}

}  // namespace myxtts
