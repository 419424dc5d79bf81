// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

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

// The program while it runs, for tests that do something to it meanwhile. What it writes goes to
// files. The destructor ends it, however it is.
class StartedProgram {
 public:
  explicit StartedProgram(const std::vector<std::string>& arguments,
                          const ProgramInput& input = {});
  StartedProgram(const StartedProgram&) = delete;
  StartedProgram& operator=(const StartedProgram&) = delete;
  ~StartedProgram();

  // Waits until standard error holds the words; false: it ended before, or a minute went by.
  bool has_said(const std::string& words);

  // Waits so long at most; true: it has ended.
  bool ends_within(std::chrono::milliseconds time);

  // The same for a program that was told to end: by its own start, so that a machine that does much
  // else too gives it its time. One that does not heed never ends.
  bool ends_soon();

  void send(int signal) const;
  int process() const { return process_; }
  std::string said() const;  // on standard error, so far

  // Waits for its end.
  ProgramResult finish();

 private:
  TemporaryFolder folder_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  int process_ = -1;
  int handle_ = -1;  // a pidfd
  std::optional<int> exit_code_;
};

}  // namespace myxtts::test
