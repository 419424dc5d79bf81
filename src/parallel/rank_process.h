// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/world.h"

namespace myxtts {

// Shows one whole line, without its end.
using ShowLine = std::function<void(const std::string& line)>;

// The output of a rank, added in pieces and shown in whole lines that name the rank. One thread.
class RankOutput {
 public:
  RankOutput(int rank, ShowLine show);

  void add(std::string_view piece);
  void finish();  // shows a last line that has no end

  // The last of its error messages, else its last line.
  const std::string& last_words() const { return last_error_.empty() ? last_line_ : last_error_; }

 private:
  void show_line(std::string line);

  const int rank_;
  const ShowLine show_;
  std::string unfinished_;
  std::string last_line_;
  std::string last_error_;
};

// How a process ended.
struct ProcessEnd {
  int code = 0;    // of its exit
  int signal = 0;  // that ended it; 0: it ended by itself

  int exit_code() const { return signal == 0 ? code : 128 + signal; }
};

// "ended with exit code 3", "was killed by SIGKILL".
std::string describe(const ProcessEnd& end);

// One rank as a child process. Rank 0 has our input, output and errors; of the others the errors
// can be read here, and their output is rank 0's to give. A terminal's Ctrl-C does not reach it;
// the end of the thread that started it, however that comes, kills it. One thread.
class RankProcess {
 public:
  // `command` is a program, by its path, and its arguments. Throws DeviceError where the system has
  // no process or file left for it.
  RankProcess(const World& world, const std::vector<std::string>& command);
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;
  ~RankProcess();  // kills it if it runs, and waits for its end

  int ended_file() const { return handle_; }  // readable when it has ended

  // Readable when it has written; -1: rank 0's, or everything was read.
  int errors_file() const { return errors_; }
  std::optional<std::string> read_errors();  // what is there; nothing: no more will come
  void close_errors();

  const std::optional<ProcessEnd>& end() const { return end_; }
  void wait();  // for its end

  bool is_stopped() const;  // as by SIGSTOP or a debugger

  void send(int signal) const;
  void kill() const;  // it and all that it has started, also where they are stopped

 private:
  pid_t process_ = -1;
  int handle_ = -1;  // a pidfd
  int errors_ = -1;
  std::optional<ProcessEnd> end_;
};

}  // namespace myxtts
