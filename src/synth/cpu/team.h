// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "base/thread_group.h"

namespace myxtts {

// A few threads that do one piece of work together and meet often on the way.
//
//   team.run([&](std::size_t member) { half(member); team.meet(); other_half(member); });
//
// Decoding one code takes a hundred meetings of some microseconds' work each, so members wait for
// each other by looking again and again, then by giving their core away; between two runs they soon
// sleep. start() once, then run() from one thread at a time, which is member 0. The work throws
// nothing.
class Team {
 public:
  explicit Team(std::size_t members);  // at least 1
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  void start();

  std::size_t members() const { return members_; }

  // Waits until all members have done the work.
  void run(const std::function<void(std::size_t member)>& work);

  // Member, during run(). Waits for all members to call it.
  void meet();

 private:
  void serve(std::size_t member);

  const std::size_t members_;
  const std::function<void(std::size_t)>* work_ = nullptr;  // written before round_ grows

  alignas(64) std::atomic<unsigned> round_ = 0;  // of run(); members sleep on it
  std::atomic<bool> leaving_ = false;
  alignas(64) std::atomic<std::size_t> arrived_ = 0;  // at the meeting
  alignas(64) std::atomic<unsigned> meeting_ = 0;     // how many there were

  ThreadGroup threads_;  // last: its threads use everything above
};

// The part of `count` things that a member does: [first, last).
struct Share {
  std::size_t first = 0;
  std::size_t last = 0;
};
Share share_of(std::size_t count, std::size_t member, std::size_t members);

}  // namespace myxtts
