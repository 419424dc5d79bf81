// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <future>
#include <thread>

#include <sys/types.h>

namespace myxtts::test {

// Runs a call that is expected to wait, so that a test can see it wake.
//
//   BlockedThread thread([&] { return queue.push(item); });
//   thread.wait_until_asleep();
//   queue.stop();
//   thread.join();
class BlockedThread {
 public:
  explicit BlockedThread(std::function<void()> call);

  // Returns once the kernel says that the thread sleeps (or that it is over).
  void wait_until_asleep();

  void join() { thread_.join(); }

 private:
  std::promise<pid_t> id_promise_;
  std::future<pid_t> id_ = id_promise_.get_future();
  std::thread thread_;
};

}  // namespace myxtts::test
