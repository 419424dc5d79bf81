// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace myxtts {

// SIGINT, SIGTERM and SIGHUP as something to read, instead of what they do to a process; a hang-up
// that nohup told us to ignore stays ignored. Ours alone: a program that we start must unblock
// them. One at a time, made before other threads are.
class CaughtSignals {
 public:
  CaughtSignals();
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;
  ~CaughtSignals();  // those that nobody took are forgotten

  int file() const { return file_; }  // readable when one has come
  int take() const;                   // 0: none has come

 private:
  int file_ = -1;  // a signalfd
  sigset_t before_{};
};

}  // namespace myxtts
