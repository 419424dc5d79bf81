// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace myxtts {

Command config_command();
Command demo_command();
Command doctor_command();
Command encode_command();
Command evaluate_command();
Command export_command();
Command import_command();
Command launch_command();
Command prepare_command();
Command profile_command();
Command synthesize_command();
Command tokenize_command();
Command train_command();
Command validate_command();
Command vocab_command();

std::vector<Command> all_commands() {
  return {
      doctor_command(),     validate_command(), config_command(),  prepare_command(),
      train_command(),      launch_command(),   profile_command(), evaluate_command(),
      synthesize_command(), import_command(),   export_command(),  encode_command(),
      tokenize_command(),   vocab_command(),    demo_command(),
  };
}

}  // namespace myxtts
