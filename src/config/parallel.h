// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace myxtts {

// In which numbers gradients go from rank to rank.
enum class Wire { Fp32, Bf16 };

// How several processes, the ranks of a run, train one model. How many there are is the launcher's
// to say: `myxtts launch`, torchrun, srun or mpirun.
struct ParallelConfig {
  double rank_timeout = 600;     // seconds that ranks wait for one that does not answer
  Wire wire = Wire::Fp32;        // a batch's gradients are summed in this
  bool shard_optimiser = false;  // each rank keeps AdamW's averages of its part alone

  friend bool operator==(const ParallelConfig&, const ParallelConfig&) = default;
};

}  // namespace myxtts
