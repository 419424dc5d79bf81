// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace myxtts {

std::vector<Command> all_commands() {
  return {};
}

}  // namespace myxtts
