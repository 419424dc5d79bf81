// SPDX-License-Identifier: Apache-2.0
//
// reduce_bench BYTES...: sums of so many bytes over the ranks that a launcher started (RANK,
// WORLD_SIZE ... in the environment), one after the other. Rank 0 prints a line of JSON for each
// size: the median of the milliseconds that a sum took, and the milliseconds of processor time that
// one rank spent on each. benchmarks/ranks.py reads it.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "parallel/rank_team.h"
#include "parallel/world.h"

namespace {

constexpr int kWarmUp = 5;
constexpr int kFewest = 20;
constexpr double kLongestMs = 1500;  // of all sums of one size

double processor_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

double sum_ms(myxtts::RankTeam& team, const at::Tensor& numbers) {
  const auto began = std::chrono::steady_clock::now();
  team.all_reduce(numbers);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  return took.count();
}

// Ranks must agree on how often: as many as fit into the time by what rank 0 saw first.
int rounds_for(myxtts::RankTeam& team, const at::Tensor& numbers) {
  double first = 0;
  for (int i = 0; i < kWarmUp; ++i) first = sum_ms(team, numbers);
  auto rounds =
      at::full({1}, std::max<double>(kFewest, kLongestMs / std::max(first, 0.01)), at::kDouble);
  team.broadcast(rounds);
  return static_cast<int>(rounds.item<double>());
}

void measure(myxtts::RankTeam& team, std::int64_t bytes) {
  const auto numbers = at::zeros({std::max<std::int64_t>(1, bytes / 4)}, at::kFloat);
  const int rounds = rounds_for(team, numbers);
  std::vector<double> times;
  const double before = processor_ms();
  for (int i = 0; i < rounds; ++i) times.push_back(sum_ms(team, numbers));
  const double spent = (processor_ms() - before) / rounds;
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  if (!team.world().leads()) return;
  fmt::print(R"({{"bytes": {}, "rounds": {}, "ms": {:.6f}, "core_ms": {:.6f}}})"
             "\n",
             bytes, rounds, times[static_cast<std::size_t>(rounds / 2)], spent);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const auto world = myxtts::world_of(myxtts::process_environment());
    if (count < 2 || !world) {
      fmt::print(stderr, "usage: RANK=... WORLD_SIZE=... reduce_bench BYTES...\n");
      return 2;
    }
    at::set_num_threads(1);
    myxtts::RankTeam team(*world);
    for (int i = 1; i < count; ++i) measure(team, std::atoll(arguments[i]));
    team.barrier();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
