// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>

namespace myxtts {

// SIGINT, SIGTERM and SIGHUP as something to read, instead of what they do to a process, whichever
// of its threads they come to; a hang-up that nohup told us to ignore stays ignored. One at a time.
class CaughtSignals {
 public:
  CaughtSignals();
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;
  ~CaughtSignals();  // those that nobody took are forgotten

  int file() const { return pipe_[0]; }  // readable when one has come
  int take() const;                      // 0: none has come

 private:
  std::array<int, 2> pipe_{-1, -1};
  std::array<struct sigaction, 3> before_{};
};

}  // namespace myxtts
