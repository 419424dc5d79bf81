// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "parallel/rank_processes.h"
#include "parallel/rank_team.h"

namespace myxtts::test {

// `work` in a thread for each of `size` ranks, joined over the loopback. Gives what each threw, in
// words; empty: nothing.
inline std::vector<std::string> with_ranks(
    int size, const std::function<void(RankTeam&)>& work,
    std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  const int port = free_port();
  std::vector<std::string> failures(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        RankTeam team({.rank = rank,
                       .size = size,
                       .local_rank = rank,
                       .local_size = size,
                       .address = "127.0.0.1",
                       .port = port},
                      timeout);
        work(team);
      } catch (const std::exception& error) {
        failures[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

}  // namespace myxtts::test
