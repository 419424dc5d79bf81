// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace myxtts {

// In which numbers gradients go from rank to rank.
enum class Wire { Fp32, Bf16 };

// GPUs by their numbers; none named is every one that is visible.
using GpuNumbers = std::vector<std::int64_t>;

// How several ranks train one model. Ranks are processes, and how many there are is the launcher's
// to say (`myxtts launch`, torchrun, srun or mpirun), or the threads of one process that one data
// device feeds.
struct ParallelConfig {
  std::optional<GpuNumbers> gpus = {};     // of this host, a rank on each
  std::optional<std::int64_t> ranks = {};  // in this process, fed by one data device
  double rank_timeout = 600;               // seconds that ranks wait for one that does not answer
  Wire wire = Wire::Fp32;                  // a batch's gradients are summed in this
  bool shard_optimiser = false;            // each rank keeps AdamW's averages of its part alone

  friend bool operator==(const ParallelConfig&, const ParallelConfig&) = default;
};

}  // namespace myxtts
