// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace myxtts::test {

// How a run of the built program ended.
struct ProgramResult {
  int exit_code = -1;  // 128 + n when signal n ended it
  std::string out;     // standard output
  std::string err;     // standard error
};

struct ProgramInput {
  std::string standard_input = {};
  std::vector<std::string> environment =
      {};  // "NAME=value", added to (or replacing) the test's own
};

// Runs `myxtts` of this build with `arguments` and waits for its end.
ProgramResult run_program(const std::vector<std::string>& arguments,
                          const ProgramInput& input = {});

}  // namespace myxtts::test
