// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_share.h"

#include <sched.h>
#include <unistd.h>
#include <cstddef>

namespace myxtts {
namespace {

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;  // more cores than a set holds
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

std::vector<int> share_of(const std::vector<int>& cores, int local_rank, int local_size) {
  const int count = static_cast<int>(cores.size());
  if (count < local_size) return {cores[static_cast<std::size_t>(local_rank % count)]};
  const auto begin = cores.begin() + count * local_rank / local_size;
  const auto end = cores.begin() + count * (local_rank + 1) / local_size;
  return {begin, end};
}

std::vector<int> own_cores(const World& world) {
  const std::vector<int> cores = usable_cores();
  if (world.local_size < 2 || cores.empty()) return {};
  return share_of(cores, world.local_rank, world.local_size);
}

void keep_to_cores(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

void keep_to_share_of_cores(const World& world) {
  const bool all = static_cast<long>(usable_cores().size()) == sysconf(_SC_NPROCESSORS_ONLN);
  if (all) keep_to_cores(own_cores(world));
}

}  // namespace myxtts
