// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/thread_group.h"

namespace myxtts {

inline constexpr int kExitBySignal = 128;  // plus the signal, as shells count

// Turns the first Ctrl-C (or SIGTERM, or the SIGHUP of a terminal that was closed, unless nohup
// says to ignore it) into a flag to look at, for work that wants to end well; a
// second one ends the process, unless it is the same within a second: then it is one that came by
// two ways. One at a time, in main's thread.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  bool came() const { return signal() != 0; }
  int signal() const;  // 0: none
};

// Thrown where work is given up, past everything that cleans up after itself, to main.cpp. No
// std::exception, since it is no failure that anybody on the way could deal with.
struct Interrupted {
  int signal = 0;
};

// Throws Interrupted when the signal came, for work that has nothing to save: calls stand where it
// goes from one part to the next. Any thread; without an Interruption it does nothing.
void stop_if_interrupted();

// Calls `act` in a thread of its own when the signal comes, at once if it came already; for work
// that may be waiting and so cannot look. An Interruption outlives it; one at a time.
class InterruptionWatch {
 public:
  explicit InterruptionWatch(std::function<void()> act);
  InterruptionWatch(const InterruptionWatch&) = delete;
  InterruptionWatch& operator=(const InterruptionWatch&) = delete;
  ~InterruptionWatch();  // waits for `act` if that has begun

 private:
  ThreadGroup threads_;
};

}  // namespace myxtts
