// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace myxtts {

// Turns the first Ctrl-C (or SIGTERM) into a flag to look at, for work that wants to end well; a
// second one ends the process. One at a time, in main's thread.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  bool came() const { return signal() != 0; }
  int signal() const;  // 0: none
};

}  // namespace myxtts
