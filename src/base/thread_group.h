// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace myxtts {

// Threads that live and end together.
//
// The group does not stop anybody: whoever owns it closes the queues that its threads wait on, then
// joins. Declare it after everything its threads use, so that they have ended before that is gone.
// start() and join() are called by the owner's thread alone.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // Waits for all threads. A failure that join() did not hand over is logged.
  ~ThreadGroup();

  // Runs `work` in a thread of its own, shown as `name` (its first 15 bytes) by top and gdb.
  void start(const std::string& name, std::function<void()> work);

  // Waits for all threads, then throws the first exception that left one. Each is thrown once.
  void join();

 private:
  void wait_for_all();

  std::vector<std::thread> threads_;

  // Everything below is guarded by mutex_.
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace myxtts
