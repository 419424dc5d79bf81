// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <ctime>

namespace myxtts::test {

// Seconds that this thread has had on a processor: what else the machine does hardly shows in it.
inline double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The same of all children that have ended and were waited for.
inline double children_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace myxtts::test
