// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "base/thread_group.h"

namespace myxtts {

// A few threads that run one function together, with many barriers in it.
//
//   threads.run([&](std::size_t member) { half(member); threads.barrier(); other_half(member); });
//
// Decoding one code takes a hundred barriers with some microseconds' work between them, so members
// wait for each other by spinning, then by yielding their core; between two runs they soon sleep.
// start() once, then run() from one thread at a time, which is member 0. The work throws nothing.
class DecodeThreads {
 public:
  explicit DecodeThreads(std::size_t members);  // at least 1
  DecodeThreads(const DecodeThreads&) = delete;
  DecodeThreads& operator=(const DecodeThreads&) = delete;
  ~DecodeThreads();

  void start();

  std::size_t members() const { return members_; }

  // Waits until all members have done the work.
  void run(const std::function<void(std::size_t member)>& work);

  // Member, during run(). Waits until all members have called it.
  void barrier();

 private:
  void serve(std::size_t member);

  const std::size_t members_;
  const std::function<void(std::size_t)>* work_ = nullptr;  // written before round_ grows

  alignas(64) std::atomic<unsigned> round_ = 0;  // of run(); members sleep on it
  std::atomic<bool> leaving_ = false;
  alignas(64) std::atomic<std::size_t> arrived_ = 0;  // at the barrier
  alignas(64) std::atomic<unsigned> barriers_ = 0;    // how many were passed

  ThreadGroup threads_;  // last: its threads use everything above
};

// The part of `count` things that a member does: [first, last).
struct Share {
  std::size_t first = 0;
  std::size_t last = 0;
};
Share share_of(std::size_t count, std::size_t member, std::size_t members);

}  // namespace myxtts
