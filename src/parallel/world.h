// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace myxtts {

// Where this process stands among the ranks of a run, as its launcher says.
struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among those of this host
  int local_size = 1;
  std::string address = "127.0.0.1";  // where rank 0 listens
  int port = 29500;
  int restarts = 0;  // how often the launcher has started the ranks anew

  bool leads() const { return rank == 0; }  // writes checkpoints, and speaks for all

  friend bool operator==(const World&, const World&) = default;
};

// A variable of the environment; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// What torchrun (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
// TORCHELASTIC_RESTART_COUNT), srun (SLURM_PROCID, ...) or mpirun (OMPI_COMM_WORLD_RANK, PMI_RANK,
// ...) say; nothing where none of them started this process as one of several. Throws ConfigError,
// which names the variable and its value, where they contradict one another or are not numbers.
std::optional<World> world_of(const Environment& environment);

}  // namespace myxtts
