// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/run_config.h"
#include "diagnose/scaling/cluster.h"

namespace myxtts {

// Note [The step of several ranks]
//
// n = H hosts x G ranks, each with b clips a batch and a batches a step, P parameters of w bytes on
// the wire (fp32: 4, bf16: 2), in k = ceil(P w / bucket) buckets. For one rank alone, measured:
//
//   pass   = fixed + b clip          forward and backward of a batch; backward is 2/3 of it
//   alone  = a pass + update         update: clipping and AdamW over P
//
// 1. Sums. A ring of m moves 2 (m - 1) / m of V bytes over each link, in 2 (m - 1) hops:
//      ring(m, V, link) = 2 (m - 1) / m V / bandwidth + 2 (m - 1) latency
//    On one host that is ring(G, V, inside), and one ring through all ranks takes the slowest link
//    and its latency. Hierarchically, each rank has the host's sum of its G-th of V after the first
//    half of the ring inside, the G of them share the host's network for theirs, and the second
//    half spreads the result:
//      ring(G, V, inside) + ring(H, V, between)
// 2. What hides. Bucket i of k is whole when i / k of the last batch's backward pass is done, and
//    buckets follow one another, t each. So they end after the pass by
//      exposed = max(t, backward / k + k t - backward)
//    and never before the last one, which only then begins.
// 3. The update: of all parameters on each rank; with a sharded optimiser update / n, and then the
//    weights are gathered, half a ring of 4 P bytes, which nothing hides.
// 4. Agreement on the step's targets and on stopping: a sum of a few numbers, latencies alone.
// 5. Stragglers. The slowest of n decides. Batches are dealt by length (EpochPlanner::shares), so
//    ranks differ by clocks and chance; a pass has the standard deviation spread x pass and they
//    are taken as normal and independent: E(max of n) x spread x a pass.
//
//   path  = a pass + stragglers + exposed + update + gathering + agreement
//
// 6. The host's cores. A rank's step takes `cores` core-milliseconds on its own host (decoding; on
//    the CPU everything), and its sums what the link says. G ranks share C cores:
//      shared = G (cores + sums) / C
//    and no step is shorter. While all cores are busy each takes `crowding` times as long; between
//    what one rank keeps busy and all of them it grows in proportion. On the CPU that stretches the
//    pass and the update too.
//
//   step = max(path, shared), clips/s = n a b / step, efficiency = alone / step
//
// Not in it: the disk or the network that clips are read from, the multiprocessors that NCCL's
// kernels take from the backward pass, other users of the network, validation and saving.

// One rank's work in a step when it has its host for itself.
struct RankStep {
  double fixed_ms = 0;  // of a pass, whatever the batch
  double clip_ms = 0;   // of a pass, for each clip
  double update_ms = 0;
  double core_clip_ms = 0;  // of the host's cores, for each clip
  double spread = 0.02;     // of passes of equal work: standard deviation to mean
  bool measured = false;    // on the user's own machine

  double pass_ms(std::int64_t clips) const {
    return fixed_ms + clip_ms * static_cast<double>(clips);
  }
};

// What is trained, and how gradients get from rank to rank.
struct RankTraining {
  RankStep step = {};
  std::int64_t batch = 1;         // clips of one rank
  std::int64_t accumulation = 1;  // batches of a step
  std::int64_t parameters = 0;
  Wire wire = Wire::Fp32;
  bool shard_optimiser = false;
  std::int64_t bucket_bytes = std::int64_t{25} << 20;  // as is usual with NCCL
};

enum class ScalingBound { Compute, Network, Data };

struct StepPrediction {
  int ranks = 1;
  double step_ms = 0;
  double clips_per_second = 0;  // of all ranks
  double efficiency = 1;        // to as many single ranks

  // Of step_ms, or beside it where it hides.
  double compute_ms = 0;  // passes and update
  double straggler_ms = 0;
  double sums_ms = 0;     // all buckets
  double exposed_ms = 0;  // of them, what the backward pass does not hide
  double gather_ms = 0;   // of sharded weights
  double agreement_ms = 0;
  double cores_ms = 0;  // no step is shorter on these cores
  ScalingBound bound = ScalingBound::Compute;
};

// Milliseconds for the sum of so many bytes over all ranks, and for the gathering of their parts.
double all_reduce_ms(const Cluster& cluster, double bytes);
double all_gather_ms(const Cluster& cluster, double bytes);

// How far the largest of n normal numbers lies above the mean, in standard deviations: 0 of one.
double expected_maximum(int n);

StepPrediction predict_step(const Cluster& cluster, const RankTraining& training);

// The smallest batch of a rank, up to 4096, with which the step is so efficient; nothing where no
// batch is.
std::optional<std::int64_t> batch_for_efficiency(const Cluster& cluster, RankTraining training,
                                                 double efficiency);

// The step of one H200 in bf16 with clips of ten seconds. That of xtts-v2 was measured with batches
// of 3 to 64 (docs/results/training-speed.md), and the line through them is taken; other sizes
// follow from it: what grows with clips and the update by their parameters, what is fixed by their
// layers.
RankStep reference_step(const std::string& model_size);

// The same on another device, which takes `measured_ms` for a whole step of so many clips: every
// part is stretched alike.
RankStep stretched(const RankStep& reference, std::int64_t clips, double measured_ms);

// How many numbers of that size are trained.
std::int64_t trained_parameters(const std::string& model_size);

}  // namespace myxtts
