// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace myxtts {

// Another program, started with our own input, output and errors. One thread.
class ChildProcess {
 public:
  // `command` is a program, looked for in PATH, and its arguments. What it writes goes to the file
  // `output` where that is given. Throws DataError when it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command, const std::string& output = {});
  // The same with open files in place of ours, and without input. What would go beyond `most_bytes`
  // in one of them ends it.
  ChildProcess(const std::vector<std::string>& command, int output, int errors,
               std::int64_t most_bytes);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();  // waits for its end

  // Its exit code, 128 + n where signal n ended it; nothing when it still runs after that time.
  std::optional<int> wait_for(std::chrono::milliseconds time);
  int wait();

  void send(int signal);

 private:
  void start(const std::vector<std::string>& command, const void* file_actions);

  pid_t process_ = -1;
  int handle_ = -1;  // a pidfd, which becomes readable when the process ends
  std::optional<int> exit_code_;
};

// Where a program is in PATH; empty: nowhere.
std::string find_program(const std::string& name);

}  // namespace myxtts
