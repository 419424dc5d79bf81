// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// The rank of this process in a run, as its launcher sets it.
struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;                 // among those of this host
  int local_size = 1;                 // as far as the launcher says
  std::string address = "127.0.0.1";  // where rank 0 listens
  int port = 29500;
  int restarts = 0;  // how often the launcher has restarted the ranks

  bool leads() const { return rank == 0; }  // writes checkpoints and the log

  friend bool operator==(const World&, const World&) = default;
};

// A variable of the environment; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// Read from the variables of the launcher, by the first of these that is set:
//   RANK and WORLD_SIZE, with LOCAL_RANK, LOCAL_WORLD_SIZE and TORCHELASTIC_RESTART_COUNT:
//   torchrun,
//     `myxtts launch`, or a person; a world of one process too;
//   those of mpirun: OMPI_COMM_WORLD_RANK, ..., or PMI_RANK, ...;
//   those of srun: SLURM_PROCID, SLURM_STEP_NUM_TASKS, .... A batch script that sbatch started has
//     SLURM_PROCID and SLURM_NTASKS too and is one process all the same.
// MASTER_ADDR and MASTER_PORT win over what else could be known of rank 0's place. Nothing where
// mpirun or srun started one process alone, or no launcher did. Throws ConfigError, which names the
// variable, its value and what is allowed, where they contradict one another or are not numbers.
std::optional<World> world_of(const Environment& environment);

// "RANK=1" and so on: what world_of() reads as this world.
std::vector<std::string> variables_of(const World& world);

// The first host of a list as SLURM writes it: "gpu03" of "gpu[03-07,12],cpu1".
std::string first_host(std::string_view hosts);

// How many tasks the node of this number (from 0) has by a list such as "4(x2),1", which is 4, 4
// and 1; nothing where the list does not say.
std::optional<int> tasks_on_node(std::string_view list, int node);

// The address of this host that `host` is reached from, as a number: ranks must listen where the
// others can reach them, and a host's own name often means 127.0.1.1. Throws DeviceError when there
// is no way to `host`.
std::string local_address_towards(const std::string& host, int port);

// A part of a flat array.
struct ArrayPart {
  std::int64_t first = 0;
  std::int64_t count = 0;

  friend bool operator==(const ArrayPart&, const ArrayPart&) = default;
};

// What rank `rank` of `size` has of an array of `count` numbers, in multiples of `unit`, which
// divides `count`. The parts of all ranks are the array; they differ by one unit at most.
inline ArrayPart part_of_rank(std::int64_t count, std::int64_t unit, int rank, int size) {
  const std::int64_t units = count / unit;
  const std::int64_t first = units * rank / size * unit;
  return {.first = first, .count = units * (rank + 1) / size * unit - first};
}

// Of `cores`, those of one rank: equal parts where there are enough, else one core each in turn.
std::vector<int> share_of(const std::vector<int>& cores, int local_rank, int local_size);

// Of the cores that this process may use, those of one rank, so that ranks neither fight for cores
// nor plan with cores of others. Empty: there is nothing to share.
std::vector<int> own_cores(const World& world);

// Keeps the calling thread, and those that it starts from now on, to them; empty: to nothing. May
// be called between fork() and exec().
void keep_to_cores(const std::vector<int>& cores);

// Both for a rank of some launcher: nothing where that has kept it to some cores already.
void keep_to_share_of_cores(const World& world);

}  // namespace myxtts
