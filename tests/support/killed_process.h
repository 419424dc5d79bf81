// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>

namespace myxtts::test {

// How long a process of its own takes for `work`, its start included.
inline std::chrono::nanoseconds time_of_process(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  return std::chrono::steady_clock::now() - start;
}

// Does `work`, which has no end, in a process of its own and kills that at a moment drawn from the
// first `window`.
inline void run_and_kill(const std::function<void()>& work, std::chrono::nanoseconds window) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) work();
  const long moment = random() % std::max<long>(window.count(), 1);
  const timespec wait{moment / 1'000'000'000, moment % 1'000'000'000};
  ppoll(nullptr, 0, &wait, nullptr);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

}  // namespace myxtts::test
