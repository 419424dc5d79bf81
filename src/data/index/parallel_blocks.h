// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>

#include "base/thread_group.h"

namespace myxtts {

// Calls work(number) for every number below `count`, from as many threads as there are cores.
// Throws the first exception that left one; the others then stop early.
template <typename Work>
void for_each_in_parallel(std::size_t count, Work work) {
  constexpr std::size_t kBlock = 32;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next = 0;
  ThreadGroup threads;
  for (std::size_t t = 0; t < std::min(cores, (count + kBlock - 1) / kBlock); ++t) {
    threads.start("scan", [&] {
      try {
        for (std::size_t first; (first = next.fetch_add(kBlock)) < count;) {
          for (std::size_t i = first; i < std::min(first + kBlock, count); ++i) work(i);
        }
      } catch (...) {
        next = count;
        throw;
      }
    });
  }
  threads.join();
}

}  // namespace myxtts
